// SPDX-License-Identifier: Apache-2.0
// The losses of both sides of a comparison by step (report/loss_plot.h).
nanhunt.makers.loss = function (canvas, loss) {
  const colours = nanhunt.paper();
  const config = {type: "line", plugins: [nanhunt.mark], options: nanhunt.options(colours)};
  config.data = {
    datasets: loss.series.map(function (series, i) {
      const colour = nanhunt.palette[i % nanhunt.palette.length];
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
};
