// Figures as wide as their place: they are drawn for 840 pixels, a phone has fewer, a slide more.
function fit() {
  for (const figure of document.querySelectorAll(".plotly-graph-div")) {
    const { width, height } = figure._fullLayout ?? {};
    const place = figure.closest(".jp-OutputArea, .cell_output, .shown"), room = place.clientWidth;
    const most = place.matches(".shown") ? Math.min(3, place.clientHeight / height) : 1;
    if (!room || !width) continue;
    const scale = Math.min(most, room / width);
    Object.assign(figure.parentElement.style, { width: `${width * scale}px`, height: `${height * scale}px` });
    Object.assign(figure.style, { transform: `scale(${scale})`, transformOrigin: "0 0" });
  }
}
for (const moment of ["load", "resize"]) addEventListener(moment, fit);
