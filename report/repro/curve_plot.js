// SPDX-License-Identifier: Apache-2.0
// Losses of A and B by step, and B - A, with the margin as a band (report/repro/curve_plot.h).
(function () {
  const sides = {a: nanhunt.palette[0], b: nanhunt.palette[1]};

  function points(list) {
    return list.map(function (pair) { return {x: pair[0], y: pair[1]}; });
  }

  function line(label, list, colour, more) {
    return Object.assign({
      label: label, data: points(list), borderColor: colour, backgroundColor: colour,
      borderWidth: 1.5, pointRadius: list.length > 1 ? 0 : 3, pointHitRadius: 4,
      pointStyle: "line",
    }, more || {});
  }

  // Two edges, the second filled to the first; the legend names it once.
  function band(plot, label, colour) {
    const edge = {
      limit: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 0, backgroundColor: colour,
      borderColor: colour, pointStyle: "rect",
    };
    return [
      Object.assign({label: "", data: points(plot.low), fill: false}, edge),
      Object.assign({label: label, data: points(plot.high), fill: "-1"}, edge),
    ];
  }

  function chart(canvas, colours, datasets, axis) {
    const config = {
      type: "line", plugins: [nanhunt.mark], options: nanhunt.options(colours),
      data: {datasets: datasets},
    };
    const plugins = config.options.plugins;
    plugins.legend.labels.boxWidth = 18;
    plugins.legend.labels.filter = function (item) { return item.text !== ""; };
    plugins.tooltip = {
      filter: function (item) { return !item.dataset.limit; },
      callbacks: {
        title: function (items) { return items.length ? "step " + items[0].raw.x : ""; },
        label: function (item) {
          return item.raw.text || item.dataset.label + ": " + item.raw.y;
        },
      },
    };
    config.options.scales.x.title = {display: true, text: "step", color: colours.quiet};
    config.options.scales.x.ticks.precision = 0;
    config.options.scales.y.title = {display: true, text: axis, color: colours.quiet};
    return new Chart(canvas, config);
  }

  nanhunt.makers.curves = function (canvas, plot) {
    const colours = nanhunt.paper();
    let sets = [];
    if (plot.a.length) {
      // The first one lies on top.
      sets = [line("B, mean", plot.b, sides.b), line("A, mean", plot.a, sides.a, {borderWidth: 3.5})];
    }
    plot.lost.forEach(function (pair) {
      sets.push(line(pair.name + " B", pair.b, sides.b, {borderDash: [5, 4], borderWidth: 1}));
      sets.push(line(pair.name + " A", pair.a, sides.a, {borderDash: [5, 4], borderWidth: 2}));
    });
    if (plot.marks.length) {
      sets.push({
        label: "NaN or Inf", showLine: false, pointStyle: "crossRot", pointRadius: 7,
        pointBorderWidth: 2, clip: false, borderColor: colours.bad, backgroundColor: colours.bad,
        data: plot.marks.map(function (mark) {
          return {x: mark.step, y: plot.marked, text: mark.text};
        }),
      });
    }
    return chart(canvas, colours, sets.concat(band(plot, "A, mean \u00b1 margin", colours.band)),
      "loss");
  };

  nanhunt.makers.differences = function (canvas, plot) {
    const colours = nanhunt.paper();
    const sets = plot.pairs.map(function (pair, i) {
      return line(pair.name, pair.points, nanhunt.palette[(i + 1) % nanhunt.palette.length],
        {borderWidth: 0.8});
    });
    if (plot.mean.length) {
      sets.unshift(line("mean", plot.mean, colours.ink, {borderWidth: 2}));
    }
    return chart(canvas, colours, sets.concat(band(plot, "\u00b1 margin", colours.band)), "B - A");
  };
})();
