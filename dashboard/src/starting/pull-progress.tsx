import type { PullView } from "../../../src/monitor/feed/feed-message.ts";
import { layerKey, type PodSamples, pullKey } from "../feed/feed-state.ts";
import { paceOf } from "../feed/pull-pace.ts";
import { formatPart } from "../text/format-bytes.ts";
import { Meter } from "../view/meter.tsx";
import { percent } from "../view/percent.ts";
import { describePace } from "./describe-pod.ts";

/** Progress of a pull in total and by layer. */
export function PullProgress(props: {
  readonly pull: PullView;
  readonly samples: PodSamples | undefined;
  readonly now: number;
}) {
  const { pull, samples, now } = props;
  const pace = describePace(paceOf(samples?.get(pullKey(pull)) ?? [], { ...pull, now }));
  const words = [
    pull.total > 0 ? percent(pull.offset / pull.total).replace(/(\.\d+)?%/, " %") : undefined,
    formatPart(pull.offset, pull.total),
    pull.queued ? "waits for other pulls" : pace,
  ];
  return (
    <div class="pull">
      <p class="pull-image">
        <bdi>{pull.image}</bdi> <span class="muted">for {pull.container}</span>
      </p>
      <Meter part={pull.total > 0 ? pull.offset / pull.total : 0} tone="pull" />
      <p class="pull-pace">{words.filter(Boolean).join(" · ")}</p>
      <table class="layers">
        <caption class="offscreen">Layers of {pull.image}</caption>
        <tbody>
          {pull.layers.map(({ layer, offset, total, stage }) => {
            const own = paceOf(samples?.get(layerKey(pull, layer)) ?? [], { offset, total, now });
            const isDone = stage === "done" || stage === "exists";
            return (
              <tr key={layer}>
                <th scope="row" title={layer}>
                  <bdi>{shortDigest(layer)}</bdi>
                </th>
                <td class="layer-meter" aria-hidden="true">
                  <Meter
                    part={isDone ? 1 : total > 0 ? offset / total : 0}
                    tone={isDone ? "over" : stage === "unpacking" ? "sandbox" : "pull"}
                  />
                </td>
                <td class="layer-size">{stage === "exists" ? "" : formatPart(offset, total)}</td>
                <td class="layer-stage">
                  {stage === "exists"
                    ? "already present"
                    : stage === "downloading"
                      ? describePace(own) || stage
                      : stage}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, 10);
}

const maxLayers = 24;

/** Layers of an image side by side: the width is the size, the fill is the progress. */
export function LayerStrip({ pull }: { readonly pull: PullView }) {
  const open = pull.layers.filter(({ stage, total }) => stage !== "exists" && total > 0);
  // Images with very many or unknown layers are shown as one bar.
  const layers =
    open.length > 0 && open.length <= maxLayers ? open : [{ layer: "", ...pull, stage: "downloading" }];
  return (
    <span class="layer-strip" aria-hidden="true">
      {layers.map(({ layer, offset, total, stage }) => (
        <span key={layer} class="layer-cell" style={{ flexGrow: String(Math.max(1, total)) }}>
          <span
            class={`layer-fill is-${stage === "unpacking" ? "unpacking" : "downloading"}`}
            style={{ width: percent(total > 0 ? offset / total : 0) }}
          />
        </span>
      ))}
    </span>
  );
}
