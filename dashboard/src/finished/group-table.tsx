import { useMemo, useState } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration } from "../text/format-duration.ts";
import { Choice } from "../view/choice.tsx";
import { percent } from "../view/percent.ts";
import { type Stage, stageLabels, stages } from "../view/stages.ts";
import { type ClassName, classes, type Group, groupStarts } from "./group-starts.ts";

const classLabels: Readonly<Record<ClassName, string>> = {
  namespace: "Namespace",
  owner: "Owner",
  runtimeClass: "RuntimeClass",
  storageClass: "StorageClass",
  node: "Node",
};
const fewest = 12;

/** Durations of starts by class, the slowest first. */
export function GroupTable(props: {
  readonly starts: readonly FinishedView[];
  readonly by: ClassName;
  readonly selected: string | undefined;
  readonly onBy: (by: ClassName) => void;
  readonly onSelect: (group: string | undefined) => void;
}) {
  const { by, selected } = props;
  const [all, setAll] = useState(false);
  const groups = useMemo(() => groupStarts(props.starts, by), [props.starts, by]);
  const longest = Math.max(1, ...groups.map(medianOfStages));
  const shown = all ? groups : groups.slice(0, fewest);
  return (
    <section class="card">
      <div class="toolbar">
        <h2>By class</h2>
        <Choice
          label="Class"
          options={classes.map((id) => ({ id, label: classLabels[id] }))}
          selected={by}
          onSelect={props.onBy}
        />
      </div>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{classLabels[by]}</th>
              <th scope="col" class="number">
                Starts
              </th>
              <th scope="col" class="number">
                Median
              </th>
              <th scope="col" class="number" aria-sort="descending">
                p90
              </th>
              <th scope="col" class="number">
                p99
              </th>
              <th scope="col">Slowest stage</th>
              <th scope="col" class="wide-only">
                Medians of the stages
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((group) => (
              <tr key={group.name} class={group.name === selected ? "is-selected" : undefined}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    aria-pressed={group.name === selected}
                    onClick={() => props.onSelect(group.name === selected ? undefined : group.name)}
                  >
                    <bdi>{group.name}</bdi>
                  </button>
                </th>
                <td class="number">{group.count.toLocaleString("en")}</td>
                {[group.p50, group.p90, group.p99].map((ms, i) => (
                  // Columns have no identity other than their position.
                  <td key={i} class="number">
                    {formatDuration(ms ?? Number.NaN)}
                  </td>
                ))}
                <td>{group.slowest ? stageLabels[group.slowest] : "–"}</td>
                <td class="wide-only">
                  <StageMix stages={group.stages} longest={longest} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {groups.length > fewest && (
        <button type="button" class="more" onClick={() => setAll(!all)}>
          {all ? `The slowest ${fewest} only` : `All ${groups.length}`}
        </button>
      )}
    </section>
  );
}

function medianOfStages({ stages }: Group): number {
  return Object.values(stages).reduce((sum, ms) => sum + ms, 0);
}

/** Bar with the durations of the stages; all bars of a table share one scale. */
function StageMix(props: {
  /** In milliseconds. */
  readonly stages: Partial<Record<Stage, number>>;
  readonly longest: number;
}) {
  const parts = stages.flatMap((stage) => {
    const ms = props.stages[stage];
    return ms === undefined ? [] : [{ stage, ms }];
  });
  const words = parts.map(({ stage, ms }) => `${stageLabels[stage]} ${formatDuration(ms)}`).join(", ");
  return (
    <span class="mix" role="img" aria-label={words || "Stages are unknown"} title={words}>
      {parts.map(({ stage, ms }) => (
        <span key={stage} class={`mix-part tone-${stage}`} style={{ width: percent(ms / props.longest) }} />
      ))}
    </span>
  );
}
