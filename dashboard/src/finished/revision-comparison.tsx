import { useMemo, useState } from "preact/hooks";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { formatDuration } from "../text/format-duration.ts";
import { percent } from "../view/percent.ts";
import {
  type ComparedStage,
  comparableWorkloads,
  compareRevisions,
  describeChange,
} from "./compare-revisions.ts";

/** Comparison of two revisions of a workload by stage. */
export function RevisionComparison({ starts }: { readonly starts: readonly FinishedView[] }) {
  const workloads = useMemo(() => comparableWorkloads(starts), [starts]);
  const [key, setKey] = useState<string>();
  const [pair, setPair] = useState<{ before?: string; after?: string }>({});
  const workload = workloads.find((each) => each.key === key) ?? workloads[0];
  const known = (revision: string | undefined) => workload?.revisions.find((each) => each === revision);
  const after = known(pair.after) ?? workload?.revisions[0] ?? "";
  const before = known(pair.before) ?? workload?.revisions[1] ?? "";
  const compared = useMemo(
    () => (workload ? compareRevisions(starts, { workload: workload.key, before, after }) : []),
    [starts, workload, before, after],
  );
  return (
    <section class="card">
      <h2>Compare revisions</h2>
      {workload ? (
        <>
          <div class="compare-choice">
            <Select
              label="Workload"
              options={workloads.map((each) => each.key)}
              value={workload.key}
              onChange={(next) => {
                setKey(next);
                setPair({});
              }}
            />
            <Select
              label="Before"
              options={workload.revisions}
              value={before}
              onChange={(revision) => setPair({ before: revision, after })}
            />
            <Select
              label="After"
              options={workload.revisions}
              value={after}
              onChange={(revision) => setPair({ before, after: revision })}
            />
          </div>
          <ComparedTable compared={compared} />
        </>
      ) : (
        <p class="muted">
          No workload has finished starts of two revisions yet. Update a workload to compare its revisions
          here.
        </p>
      )}
    </section>
  );
}

function ComparedTable({ compared }: { readonly compared: readonly ComparedStage[] }) {
  const longest = Math.max(1, ...compared.flatMap(({ before, after }) => [before.p90 ?? 0, after.p90 ?? 0]));
  const whole = compared[0];
  return (
    <div class="table-scroll">
      <table class="compare">
        <caption class="muted">
          {whole?.before.count} starts before, {whole?.after.count} after. Bars: median, and up to p90.
        </caption>
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col" class="wide-only">
              Before over after
            </th>
            <th scope="col" class="number">
              Median
            </th>
            <th scope="col" class="number">
              p90
            </th>
            <th scope="col" class="number">
              Change
            </th>
          </tr>
        </thead>
        <tbody>
          {compared.map(({ stage, label, before, after }) => {
            const change = describeChange(before.p50, after.p50);
            return (
              <tr key={stage}>
                <th scope="row">{label}</th>
                <td class="wide-only compare-bars" aria-hidden="true">
                  {[before, after].map(({ p50 = 0, p90 = 0 }, i) => (
                    // Before comes first.
                    <span key={i} class={`compare-bar ${i === 0 ? "is-before" : `tone-${stage}`}`}>
                      <span class="compare-p90" style={{ width: percent(p90 / longest) }} />
                      <span class="compare-p50" style={{ width: percent(p50 / longest) }} />
                    </span>
                  ))}
                </td>
                <Pair before={before.p50} after={after.p50} />
                <Pair before={before.p90} after={after.p90} />
                <td class={`number ${toneOfChange(change)}`}>{change ?? "–"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function toneOfChange(change: string | undefined): string {
  if (change === undefined || change === "same") return "";
  return change.startsWith("+") ? "is-worse" : "is-better";
}

function Pair({
  before,
  after,
}: {
  readonly before: number | undefined;
  readonly after: number | undefined;
}) {
  return (
    <td class="number pair">
      <span class="muted">{formatDuration(before ?? Number.NaN)}</span>
      <span class="offscreen"> before, </span>
      <span>{formatDuration(after ?? Number.NaN)}</span>
      <span class="offscreen"> after</span>
    </td>
  );
}

function Select(props: {
  readonly label: string;
  readonly options: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <label>
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
