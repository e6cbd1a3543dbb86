import { useMemo, useState } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration } from "../text/format-duration.ts";
import { Choice } from "../view/choice.tsx";
import { stageLabels } from "../view/stages.ts";
import { type ClassName, classes, type Group, groupStarts } from "./group-starts.ts";
import { StageMix } from "./stage-mix.tsx";

const classLabels: Readonly<Record<ClassName, string>> = {
  namespace: "Namespace",
  owner: "Owner",
  runtimeClass: "RuntimeClass",
  storageClass: "StorageClass",
  node: "Node",
};
const fewest = 12;

/** How long starts took, class by class, the slowest first. */
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
                  // A column is its place.
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
