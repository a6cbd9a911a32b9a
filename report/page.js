// SPDX-License-Identifier: Apache-2.0
// Draws the two plots from the data in the page, with Chart.js. A canvas gets the attribute
// data-drawn, the number of its points, each time that the library has drawn it.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  // Told apart with any colour vision (Okabe and Ito), on light and dark paper.
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b",
    "#7f7f7f", "#a05195"];
  const standings = {
    within: {style: "circle", radius: 2.5},
    undecided: {style: "rectRot", radius: 5},
    out: {style: "triangle", radius: 6},
    excused: {style: "crossRot", radius: 5},
  };

  function paper() {
    const style = getComputedStyle(document.documentElement);
    return {
      ink: style.getPropertyValue("--ink").trim(),
      quiet: style.getPropertyValue("--quiet").trim(),
      line: style.getPropertyValue("--line").trim(),
      bad: style.getPropertyValue("--bad").trim(),
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

  function shorter(text, most) {
    return text.length > most ? "\u2026" + text.slice(1 - most) : text;
  }

  // One tick where a layer begins, and at least `gap` points between two.
  function layerTicks(points, gap) {
    const ticks = [];
    points.forEach(function (point, i) {
      const begins = i === 0 || point.layer !== points[i - 1].layer;
      const room = ticks.length === 0 || i - ticks[ticks.length - 1].value >= gap;
      if (begins && room) ticks.push({value: i});
    });
    return ticks;
  }

  function powersOfTen(floor, top) {
    const low = Math.round(Math.log10(floor)), high = Math.round(Math.log10(top));
    const stride = Math.max(1, Math.ceil((high - low) / 10));
    const ticks = [{value: floor}];
    for (let power = low + 1; power < high; ++power) {
      if (power % stride === 0) ticks.push({value: Math.pow(10, power)});
    }
    return ticks.concat([{value: top}]);
  }

  function byPhase(points) {
    const names = [];
    points.forEach(function (point) {
      if (!names.includes(point.phase)) names.push(point.phase);
    });
    return names.map(function (name, i) {
      const mine = [];
      points.forEach(function (point, x) {
        if (point.phase === name) mine.push({x: x, y: point.ratio, point: point});
      });
      const shape = mine.map(function (each) {
        return standings[each.point.standing] || standings.within;
      });
      const colour = palette[i % palette.length];
      return {
        label: name, data: mine, showLine: false, clip: false, backgroundColor: colour, borderColor: colour,
        pointStyle: shape.map(function (each) { return each.style; }),
        pointRadius: shape.map(function (each) { return each.radius; }),
        pointHoverRadius: 7,
      };
    });
  }

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

  function errorChart(canvas, error) {
    const points = error.points, colours = paper(), last = Math.max(points.length - 1, 1);
    const config = {type: "line", plugins: [mark], options: options(colours)};
    const limit = {
      label: "allowed", limit: true, data: [{x: 0, y: 1}, {x: last, y: 1}], pointRadius: 0,
      pointHitRadius: 0, borderColor: colours.bad, borderWidth: 1, borderDash: [6, 4],
      pointStyle: "line",
    };
    config.data = {datasets: byPhase(points).concat([limit])};
    const scales = config.options.scales;
    scales.x.min = -0.5;
    scales.x.max = points.length - 0.5;
    scales.x.afterBuildTicks = function (axis) {
      const pixels = axis.chart.width - 80;  // less the vertical axis
      axis.ticks = layerTicks(points, 22 * points.length / Math.max(pixels, 1));
    };
    Object.assign(scales.x.ticks, {autoSkip: false, minRotation: 45, maxRotation: 45});
    scales.x.ticks.callback = function (value) { return shorter(points[value].layer, 22); };
    scales.y.type = "logarithmic";
    scales.y.min = error.floor;
    scales.y.max = error.top;
    scales.y.title = {display: true, text: "measured / allowed", color: colours.quiet};
    scales.y.afterBuildTicks = function (axis) {
      axis.ticks = powersOfTen(error.floor, error.top);
    };
    scales.y.ticks.callback = function (value) {
      if (value === error.floor) return "equal";
      if (value === error.top) return "no ratio";
      const power = Math.round(Math.log10(value));
      return Math.abs(power) < 4 ? String(Number(value.toPrecision(1))) : "1e" + power;
    };
    config.options.plugins.tooltip = {
      filter: function (item) { return !item.dataset.limit; },
      callbacks: {
        title: function (items) { return items.length ? items[0].raw.point.site : ""; },
        label: function (item) {
          const point = item.raw.point;
          return [point.phase + ", " + point.role + ", step " + point.step,
            point.rule + ": " + point.text, point.standing];
        },
      },
    };
    return new Chart(canvas, config);
  }

  function lossChart(canvas, loss) {
    const colours = paper();
    const config = {type: "line", plugins: [mark], options: options(colours)};
    config.data = {
      datasets: loss.series.map(function (series, i) {
        const colour = palette[i % palette.length];
        return {
          label: series.name,
          data: series.points.map(function (pair) { return {x: pair[0], y: pair[1]}; }),
          borderColor: colour, backgroundColor: colour, borderWidth: 1.5,
          borderDash: series.reference ? [5, 4] : [], pointRadius: 3,
          pointStyle: series.reference ? "rect" : "circle",
        };
      }),
    };
    config.options.scales.x.title = {display: true, text: "step", color: colours.quiet};
    config.options.scales.x.ticks.precision = 0;
    config.options.scales.y.title = {display: true, text: "loss", color: colours.quiet};
    return new Chart(canvas, config);
  }

  const makers = {"error-plot": [errorChart, data.error], "loss-plot": [lossChart, data.loss]};
  let charts = [];
  function draw() {
    charts.forEach(function (chart) { chart.destroy(); });
    charts = [];
    Object.keys(makers).forEach(function (id) {
      const canvas = document.getElementById(id);
      if (canvas) charts.push(makers[id][0](canvas, makers[id][1]));
    });
  }

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
})();
