import { useMemo, useState } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";
import { formatDuration } from "../text/format-duration.ts";
import { Empty, NoMatch } from "../view/empty.tsx";
import { stageLabels } from "../view/stages.ts";
import { type ClassName, classesOf, summarizeGroup } from "./group-starts.ts";
import { GroupTable } from "./group-table.tsx";
import { RevisionComparison } from "./revision-comparison.tsx";
import { SlowestStarts } from "./slowest-starts.tsx";
import { StartsPlot } from "./starts-plot.tsx";

/** Finished starts by duration, class and revision. */
export function FinishedPanel(props: {
  readonly starts: readonly FinishedView[];
  readonly filter: string;
  readonly onClearFilter: () => void;
}) {
  const [by, setBy] = useState<ClassName>("namespace");
  const [group, setGroup] = useState<string>();
  const matching = useMemo(() => {
    const matches = createFilter(props.filter);
    return props.starts.filter(({ namespace, name }) => matches(`${namespace}/${name}`));
  }, [props.starts, props.filter]);
  // Starts delayed by user errors are counted separately.
  const starts = useMemo(() => matching.filter(({ userError }) => !userError), [matching]);
  const shown = useMemo(
    () => (group === undefined ? starts : starts.filter((start) => classesOf(start, by).includes(group))),
    [starts, by, group],
  );
  const summary = useMemo(() => summarizeGroup("", shown), [shown]);
  if (props.starts.length === 0) {
    return (
      <Empty
        title="No starts have finished yet."
        command="kubectl run hello --image=busybox --command -- sleep 3600"
      >
        A pod counts once it has become ready for the first time. Start one:
      </Empty>
    );
  }
  if (matching.length === 0) return <NoMatch filter={props.filter} onClear={props.onClearFilter} />;
  const left = matching.length - starts.length;
  const figures: readonly (readonly [string, string])[] = [
    ["Starts", shown.length.toLocaleString("en")],
    ["Median", formatDuration(summary.p50 ?? Number.NaN)],
    ["p90", formatDuration(summary.p90 ?? Number.NaN)],
    ["p99", formatDuration(summary.p99 ?? Number.NaN)],
    ["Slowest stage", summary.slowest ? stageLabels[summary.slowest] : "–"],
    ["User errors, left out", left.toLocaleString("en")],
  ];
  return (
    <div class="scroll finished">
      <dl class="figures">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <StartsPlot starts={starts} shown={shown} summary={summary} />
      <GroupTable
        starts={starts}
        by={by}
        selected={group}
        onBy={(next) => {
          setBy(next);
          setGroup(undefined);
        }}
        onSelect={setGroup}
      />
      <div class="columns">
        <RevisionComparison starts={starts} />
        <SlowestStarts starts={shown} />
      </div>
    </div>
  );
}
