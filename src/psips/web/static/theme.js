// Colours: as the system says, or as chosen here before; set before anything is drawn.
"use strict";

document.documentElement.classList.add("js");
{
  const chosen = localStorage.getItem("psips-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}
