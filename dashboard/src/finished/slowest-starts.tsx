import { useMemo } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration } from "../text/format-duration.ts";
import { stageLabels } from "../view/stages.ts";
import { durationMs, slowestStage } from "./group-starts.ts";

const maxRows = 8;

/** Table of the slowest starts. */
export function SlowestStarts({ starts }: { readonly starts: readonly FinishedView[] }) {
  const slowest = useMemo(
    () => starts.toSorted((a, b) => durationMs(b) - durationMs(a)).slice(0, maxRows),
    [starts],
  );
  return (
    <section class="card">
      <h2>Slowest starts</h2>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Pod</th>
              <th scope="col" class="number">
                Took
              </th>
              <th scope="col">Slowest stage</th>
            </tr>
          </thead>
          <tbody>
            {slowest.map((start) => {
              const stage = slowestStage(start);
              return (
                <tr key={start.uid}>
                  <th scope="row">
                    <bdi>{start.name}</bdi>{" "}
                    <span class="muted">
                      <bdi>{start.namespace}</bdi>
                    </span>
                  </th>
                  <td class="number">{formatDuration(durationMs(start))}</td>
                  <td>
                    {stage && <span class={`dot tone-${stage}`} aria-hidden="true" />}
                    {stage
                      ? `${stageLabels[stage]}, ${formatDuration((start.stages[stage] ?? 0) * 1_000)}`
                      : "–"}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
