// SPDX-License-Identifier: Apache-2.0
// Draws the plots from the data in the page, with Chart.js. A canvas names its plot in data-plot;
// the plot's own script has put its maker into nanhunt.makers. A canvas gets the attribute
// data-drawn, the number of its points, each time that the library has drawn it.
"use strict";
const nanhunt = (function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  // Told apart with any colour vision (Okabe and Ito), on light and dark paper.
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b",
    "#7f7f7f", "#a05195"];

  function paper() {
    const style = getComputedStyle(document.documentElement);
    return {
      ink: style.getPropertyValue("--ink").trim(),
      quiet: style.getPropertyValue("--quiet").trim(),
      line: style.getPropertyValue("--line").trim(),
      bad: style.getPropertyValue("--bad").trim(),
      band: style.getPropertyValue("--band").trim(),
    };
  }

  // Marks the canvas after the library drew.
  const mark = {
    id: "mark",
    afterDraw: function (chart) {
      let points = 0;
      chart.data.datasets.forEach(function (set, i) {
        points += set.limit ? 0 : chart.getDatasetMeta(i).data.length;
      });
      chart.canvas.dataset.drawn = String(points);
    },
  };

  function options(colours) {
    return {
      animation: false, responsive: true, maintainAspectRatio: false,
      interaction: {mode: "nearest", intersect: false},
      plugins: {
        legend: {
          position: "top", align: "start",
          labels: {
            color: colours.ink, boxWidth: 7, boxHeight: 7, padding: 14, usePointStyle: true,
          },
        },
      },
      scales: {
        x: {
          type: "linear", grid: {color: colours.line}, border: {color: colours.line},
          ticks: {color: colours.quiet},
        },
        y: {grid: {color: colours.line}, ticks: {color: colours.quiet}},
      },
    };
  }

  // (canvas, data of its plot) -> Chart, by the name of the plot.
  const makers = {};
  let charts = [];
  function draw() {
    charts.forEach(function (chart) { chart.destroy(); });
    charts = [];
    document.querySelectorAll("canvas[data-plot]").forEach(function (canvas) {
      const name = canvas.dataset.plot;
      charts.push(makers[name](canvas, data[name]));
    });
  }

  // When all makers are there.
  function start() {
    draw();
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    window.addEventListener("beforeprint", function () {
      document.documentElement.classList.add("printing");
      draw();
    });
    window.addEventListener("afterprint", function () {
      document.documentElement.classList.remove("printing");
      draw();
    });
  }

  return {makers: makers, palette: palette, paper: paper, mark: mark, options: options, start: start};
})();
