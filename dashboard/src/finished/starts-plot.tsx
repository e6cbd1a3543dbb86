import { useMemo, useState } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration, formatTick } from "../text/format-duration.ts";
import { useSize } from "../view/hooks.ts";
import { logAxis, placeOnLog, timeTicks } from "../view/nice-axis.ts";
import { stageLabels, stages } from "../view/stages.ts";
import { durationMs } from "./group-starts.ts";
import { binDurations, dotsPath, nearestPoint, type Plot, type Point, placeStarts } from "./place-starts.ts";
import type { Summary } from "./quantile.ts";

const height = 240;
const margin = { left: 52, top: 8, bottom: 22 };
const binCount = 30;

/** Scatter plot of starts by ready time and duration, with a histogram of the durations. */
export function StartsPlot(props: {
  readonly starts: readonly FinishedView[];
  /** Starts of the selected group; the others are shaded. */
  readonly shown: readonly FinishedView[];
  readonly summary: Summary;
}) {
  const { ref, width } = useSize<HTMLDivElement>();
  const [under, setUnder] = useState<Point>();
  const histogramWidth = width < 560 ? 60 : 150;
  const plot = useMemo<Plot>(() => {
    const readyTimes = props.starts.map(({ readyMs }) => readyMs);
    const fromMs = readyTimes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const toMs = readyTimes.reduce((a, b) => Math.max(a, b), 0);
    return {
      width: Math.max(60, width - margin.left - histogramWidth - 14),
      height,
      // A single point in time still needs a range.
      fromMs: Math.min(fromMs, toMs - 10_000),
      toMs,
      axis: logAxis(props.starts.map(durationMs)),
    };
  }, [props.starts, width, histogramWidth]);
  const points = useMemo(() => placeStarts(props.shown, plot), [props.shown, plot]);
  const dots = useMemo(
    () =>
      [...stages, undefined].map((stage) => ({
        tone: stage ?? "over",
        path: dotsPath(points.filter((point) => point.stage === stage)),
      })),
    [points],
  );
  const shade = useMemo(
    () => (props.shown === props.starts ? "" : dotsPath(placeStarts(props.starts, plot))),
    [props.shown, props.starts, plot],
  );
  const bins = useMemo(
    () => binDurations(props.shown.map(durationMs), plot.axis, binCount),
    [props.shown, plot],
  );
  const maxCount = Math.max(1, ...bins.map(({ count }) => count));
  const y = (ms: number) => height * (1 - placeOnLog(plot.axis, ms));
  const lines = [
    ["p50", props.summary.p50],
    ["p90", props.summary.p90],
  ] as const;
  const onPointerMove = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    setUnder(
      nearestPoint(points, event.clientX - box.left - margin.left, event.clientY - box.top - margin.top),
    );
  };
  return (
    <figure class="plot" ref={ref}>
      <figcaption>
        <ul class="legend">
          {stages.map((stage) => (
            <li key={stage}>
              <span class={`dot tone-${stage}`} aria-hidden="true" />
              {stageLabels[stage]}
            </li>
          ))}
        </ul>
        <p class="plot-reading">
          {under ? <Reading point={under} /> : "Each dot is a start, in the colour of its slowest stage."}
        </p>
      </figcaption>
      <svg
        role="img"
        aria-label={describePlot(props.shown.length, props.summary)}
        width={width}
        height={height + margin.top + margin.bottom}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setUnder(undefined)}
      >
        <g transform={`translate(${margin.left} ${margin.top})`}>
          {plot.axis.ticks.map((tick) => (
            <g key={tick}>
              <line
                class="plot-grid"
                x1={0}
                x2={plot.width + 14 + histogramWidth}
                y1={y(tick)}
                y2={y(tick)}
              />
              <text class="plot-label" x={-8} y={y(tick) + 4} text-anchor="end">
                {formatTick(tick)}
              </text>
            </g>
          ))}
          {timeTicks(plot.fromMs, plot.toMs, Math.max(2, Math.floor(plot.width / 110))).map(
            ({ atMs, label }) => (
              <text
                key={atMs}
                class="plot-label"
                x={((atMs - plot.fromMs) / (plot.toMs - plot.fromMs)) * plot.width}
                y={height + 17}
                text-anchor="middle"
              >
                {label}
              </text>
            ),
          )}
          {shade && <path class="plot-dots is-shade" d={shade} />}
          {dots.map(({ tone, path }) => (
            <path key={tone} class={`plot-dots tone-${tone}`} d={path} />
          ))}
          {under && <circle class="plot-under" cx={under.x} cy={under.y} r={6} />}
          <g transform={`translate(${plot.width + 14} 0)`}>
            {bins.map(({ from, to, count }) => (
              <rect
                key={from}
                class="plot-bin"
                x={0}
                y={height * (1 - to) + 0.5}
                width={(count / maxCount) * histogramWidth}
                height={height * (to - from) - 1}
              />
            ))}
          </g>
          {lines.map(
            ([name, ms]) => ms !== undefined && <QuantileLine key={name} name={name} y={y(ms)} plot={plot} />,
          )}
        </g>
      </svg>
    </figure>
  );
}

function QuantileLine({ name, y, plot }: { readonly name: string; readonly y: number; readonly plot: Plot }) {
  return (
    <g>
      <line class="plot-quantile" x1={0} x2={plot.width} y1={y} y2={y} />
      <text class="plot-quantile-label" x={plot.width - 4} y={y - 4} text-anchor="end">
        {name}
      </text>
    </g>
  );
}

function Reading({ point: { start, stage } }: { readonly point: Point }) {
  const seconds = stage ? start.stages[stage] : undefined;
  return (
    <>
      <bdi>
        {start.namespace}/{start.name}
      </bdi>{" "}
      took {formatDuration(durationMs(start))}
      {stage &&
        seconds !== undefined &&
        `, ${formatDuration(seconds * 1_000)} of it ${stageLabels[stage].toLowerCase()}`}
    </>
  );
}

function describePlot(count: number, { p50, p90, p99 }: Summary): string {
  const [median, most, almostAll] = [p50, p90, p99].map((ms) => formatDuration(ms ?? Number.NaN));
  return `${count} starts over time: half of them took up to ${median}, 90 % up to ${most}, 99 % up to ${almostAll}.`;
}
