// SPDX-License-Identifier: Apache-2.0
// Measured over allowed of each judged place (report/error_plot.h).
(function () {
  const standings = {
    within: {style: "circle", radius: 2.5},
    undecided: {style: "rectRot", radius: 5},
    out: {style: "triangle", radius: 6},
    excused: {style: "crossRot", radius: 5},
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
      const colour = nanhunt.palette[i % nanhunt.palette.length];
      return {
        label: name, data: mine, showLine: false, clip: false, backgroundColor: colour, borderColor: colour,
        pointStyle: shape.map(function (each) { return each.style; }),
        pointRadius: shape.map(function (each) { return each.radius; }),
        pointHoverRadius: 7,
      };
    });
  }

  nanhunt.makers.error = function (canvas, error) {
    const points = error.points, colours = nanhunt.paper(), last = Math.max(points.length - 1, 1);
    const config = {type: "line", plugins: [nanhunt.mark], options: nanhunt.options(colours)};
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
  };
})();
