"""Sentences with the people in them marked: ``[kind|words]``.

None of them was used to choose the detector's thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MARKED: Final = """
[name|Eleanor Ashworth] returned the second kayak with a crack in its hull.
Please ask [name|Tobias Fairchild] whether Tuesday suits him.
The parcel for [name|Priya Raman] went to [address|19 Mill Lane, Norwich].
[name|Samuel Okafor] can be reached at [phone|+44 161 496 0345] in the evening.
Mrs [name|Langley] asked for the deposit back.
Write to [email|beatrice.l@post.example] before the lease ends.
We agreed with [name|Hassan Siddiqui] and [name|Fiona McAllister] on ten per cent.
Paid from [number|GB29 NWBK 6016 1331 9268 19] on Monday.
[name|Friederike Ostermann] hat die Miete zweimal überwiesen.
Bitte [name|Dieter Hallmann] unter [phone|+49 89 2180 1234] zurückrufen.
Frau [name|Weißenfels] wohnt jetzt in der [address|Goethestraße 27, 04109 Leipzig].
Der Vertrag wurde mit [name|Björn Thiele] und [name|Gudrun Pfeiffer] besprochen.
Herr [name|Brinkmann] möchte keine Werbung mehr.
Das Geld kam von [number|DE44500105175407324931].
Antwort an [email|annegret.sommer@brief.example] steht aus.
Laut [name|Ralf Kühnert] ist die Heizung seit Freitag kaputt.
[name|Hélène Marchand] attend une réponse depuis mardi.
Le colis de [name|Olivier Besson] est parti au [address|9 impasse des Lilas, Toulouse].
Madame [name|Benali] a rappelé au sujet du bail.
Joindre [name|Solène Gauthier] au [phone|+33 6 12 34 56 78].
Accord trouvé avec [name|Karim Haddad] et [name|Manon Delacroix].
Le virement vient de [number|FR76 3000 6000 0112 3456 7890 189].
Message transmis par [email|y.carpentier@courrier.example].
[name|Carmen Villanueva] devolvió el pedido sin abrir.
Hay que llamar a [name|Joaquín Herrero] al [phone|+34 612 345 678].
La señora [name|Salgado] pidió otra copia del contrato.
El envío de [name|Raúl Montero] va a [address|Calle Serrano 18, 28001 Madrid].
Hablado con [name|Inés Carrasco] y [name|Andrés Quintana].
La transferencia llegó de [number|ES91 2100 0418 4502 0005 1332].
Responder a [email|nuria-campos@correo.example] mañana.
[name|Katarzyna Mazurek] czeka na zwrot pieniędzy.
Paczka dla [name|Wojciech Sikora] idzie na [address|ul. Piotrkowska 55, 90-413 Łódź].
Pani [name|Jasińska] prosi o kopię umowy.
Proszę zadzwonić do [name|Marek Czarnecki], [phone|+48 601 234 567].
Ustalono z [name|Rafał Górski] oraz [name|Dorota Kubiak].
Przelew przyszedł z [number|PL61 1090 1014 0000 0712 1981 2874].
Odpisać na [email|kubiak.d@poczta.example] w piątek.
ask [name|oskar] about the checkout timeout.
Ask [name|Ingrid] first.
[name|Иван Петров] просил удалить данные.
Der Ausweis hat die Nummer [number|756.9217.0769.85].
She pays with card [number|5555 5555 5555 4444].
"""
# Texts about work and machines that name nobody.
NOBODY: Final = """
The deploy on node-7 failed because Redis ran out of memory.
Merge branch release/1.4 into main and bump Django to 5.2.
Kubernetes restarted the Fairlead worker twice.
Berlin and Helsinki regions are healthy.
Der Server in Frankfurt ist langsam, die Auflösung folgt am Montag.
La mise à jour de PostgreSQL est prévue en mars.
El pedido 20391 sale el lunes desde Valencia.
Faktura 12/2024 jest opłacona.
Run 1790000000000 took 8192 ms at 2026-02-11T16:18:32.
commit 9f27d24949b0581701071ea5ef522d77 reverted
The API returns 404 for GET /v1/users/42.
Bitte die Bestellung 4711 am Dienstag prüfen.
Chapter 12, page 340: see figure 7.
Order of 3 kayaks, colour Blue, size XL.
feat(api): add @router.get to web/views.py, see docs/setup.md
Loss 0.2085 0.0118 292.99 after epoch 12
chore: initial project scaffolding with Next.js (TypeScript) and Go
Set CREWSHIP_EXPORT_KEY in compose.yaml, port 8000, host 10.0.0.12
"""
_MARK: Final = re.compile(r"\[(\w+)\|([^]]+)\]")


class Sentence(NamedTuple):
    """A text, and (start, end, kind) of everything in it."""

    text: str
    marks: tuple[tuple[int, int, str], ...]


def sentences() -> Iterator[Sentence]:
    """Yield the marked sentences without their marks."""
    for line in MARKED.strip().splitlines():
        text, position, marks = "", 0, []
        for match in _MARK.finditer(line):
            text += line[position : match.start()]
            marks.append((len(text), len(text) + len(match[2]), match[1]))
            text, position = text + match[2], match.end()
        yield Sentence(text + line[position:], tuple(marks))
