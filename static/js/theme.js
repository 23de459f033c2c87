// Runs before the first paint: the chosen theme, and a mark that scripts are there.
(() => {
  const root = document.documentElement;
  root.dataset.scripts = "on";
  try {
    const theme = localStorage.getItem("crewship-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch { /* storage is switched off: the system's theme stays */ }
})();
