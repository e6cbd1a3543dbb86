import type { PullView } from "../../../src/monitor/feed/feed-message.ts";
import { percent } from "../view/percent.ts";

const mostLayers = 24;

/** All layers of an image side by side, each as wide as it is large and as full as it is far. */
export function LayerStrip({ pull }: { readonly pull: PullView }) {
  const open = pull.layers.filter(({ stage, total }) => stage !== "exists" && total > 0);
  // What has very many layers, or tells nothing of them, is one bar.
  const layers =
    open.length > 0 && open.length <= mostLayers ? open : [{ layer: "", ...pull, stage: "downloading" }];
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
