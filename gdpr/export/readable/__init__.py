"""An exported row as a person reads it: a sentence, quotes, labelled values.

``kinds`` says what a sentence is made of, the modules after the places have the
sentences, ``values`` turns columns into words, ``reading`` puts a row together.
"""
