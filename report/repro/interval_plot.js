// SPDX-License-Identifier: Apache-2.0
// The interval of a mean difference against the margin (report/repro/interval_plot.h). A page has
// one a metric: data-index says which.
(function () {
  // Behind the points, from -margin to margin.
  function shade(margin, colour) {
    return {
      id: "shade",
      beforeDatasetsDraw: function (chart) {
        const x = chart.scales.x, area = chart.chartArea;
        const left = x.getPixelForValue(-margin), right = x.getPixelForValue(margin);
        chart.ctx.save();
        chart.ctx.fillStyle = colour;
        chart.ctx.fillRect(left, area.top, right - left, area.bottom - area.top);
        chart.ctx.restore();
      },
    };
  }

  // Bounds that hold the margin and all points, with room at both ends.
  function reach(plot) {
    const values = plot.pairs.concat([plot.mean, plot.low, plot.high, plot.margin])
      .filter(function (value) { return value !== null; });
    return 1.15 * Math.max.apply(null, values.map(Math.abs));
  }

  function datasets(plot) {
    const at = function (y) { return function (x) { return {x: x, y: y}; }; };
    const sets = [{
      label: "pairs", data: plot.pairs.map(at(0)), showLine: false, pointRadius: 5,
      pointBackgroundColor: "transparent", pointBorderWidth: 1.5,
      pointBorderColor: nanhunt.palette[1],
    }];
    if (plot.low !== null && plot.high !== null) {
      sets.push({
        label: "interval", limit: true, data: [plot.low, plot.high].map(at(1)), borderWidth: 3,
        borderColor: nanhunt.palette[0], pointRadius: 8, pointStyle: "line", pointRotation: 90,
        pointBorderColor: nanhunt.palette[0], pointBorderWidth: 3,
      });
    }
    if (plot.mean !== null) {
      sets.push({
        label: "mean", data: [at(1)(plot.mean)], showLine: false, pointRadius: 5,
        pointBackgroundColor: nanhunt.palette[0], pointBorderColor: nanhunt.palette[0],
      });
    }
    return sets;
  }

  nanhunt.makers.interval = function (canvas, plots) {
    const plot = plots[Number(canvas.dataset.index)], colours = nanhunt.paper();
    const config = {
      type: "line", plugins: [nanhunt.mark, shade(plot.margin, colours.band)],
      options: nanhunt.options(colours), data: {datasets: datasets(plot)},
    };
    const scales = config.options.scales, most = reach(plot);
    scales.x.min = -most;
    scales.x.max = most;
    Object.assign(scales.x.ticks, {maxTicksLimit: 9, includeBounds: false});
    scales.x.ticks.callback = function (value) { return String(Number(value.toPrecision(3))); };
    scales.x.title = {display: true, text: "B - A", color: colours.quiet};
    scales.y.min = -0.6;
    scales.y.max = 1.6;
    scales.y.afterBuildTicks = function (axis) { axis.ticks = [{value: 0}, {value: 1}]; };
    scales.y.ticks.callback = function (value) { return value === 1 ? "mean" : "pairs"; };
    config.options.plugins.legend.display = false;
    config.options.plugins.tooltip = {
      callbacks: {
        title: function () { return ""; },
        label: function (item) { return item.dataset.label + ": " + item.raw.x; },
      },
    };
    return new Chart(canvas, config);
  };
})();
