import { useMemo } from "preact/hooks";
import type { StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";
import { Empty, NoMatch } from "../view/empty.tsx";
import { describeOrdinals } from "./describe-rows.ts";

const healths = ["ready", "starting", "failing", "terminating", "missing"] as const;
/** Above this number of pods the cells are small and without numbers. */
const maxNumbered = 60;

export function StatefulSetsPanel(props: {
  readonly sets: ReadonlyMap<string, StatefulSetView>;
  readonly filter: string;
  readonly onClearFilter: () => void;
}) {
  const shown = useMemo(() => {
    const matches = createFilter(props.filter);
    return (
      [...props.sets.values()]
        .filter(({ namespace, name }) => matches(`${namespace}/${name}`))
        // Blocked sets come first.
        .sort(
          (a, b) =>
            Number(Boolean(b.blockedBy)) - Number(Boolean(a.blockedBy)) || key(a).localeCompare(key(b)),
        )
    );
  }, [props.sets, props.filter]);
  if (props.sets.size === 0) {
    return (
      <Empty title="There are no StatefulSets." command="kubectl apply -f statefulset.yaml">
        This view shows the revision and health of each of their pods.
      </Empty>
    );
  }
  if (shown.length === 0) return <NoMatch filter={props.filter} onClear={props.onClearFilter} />;
  return (
    <div class="scroll">
      <ul class="legend">
        {healths.map((health) => (
          <li key={health}>
            <span class={`cell health-${health}`} aria-hidden="true" />
            {health}
          </li>
        ))}
        <li>
          <span class="cell health-ready is-old" aria-hidden="true" />
          earlier revision
        </li>
      </ul>
      {shown.map((set) => (
        <SetCard key={key(set)} set={set} />
      ))}
    </div>
  );
}

const key = ({ namespace, name }: StatefulSetView) => `${namespace}/${name}`;

function SetCard({ set }: { readonly set: StatefulSetView }) {
  const description = describeOrdinals(set);
  return (
    <section class={`card set${set.blockedBy ? " is-held" : ""}`}>
      <header class="set-head">
        <h2>
          <bdi>{set.name}</bdi>{" "}
          <span class="muted">
            <bdi>{set.namespace}</bdi>
          </span>
        </h2>
        <p class="muted">
          {set.strategy} · revision <bdi>{set.updateRevision || "unknown"}</bdi>
        </p>
      </header>
      <div
        class={`strip${set.ordinals.length > maxNumbered ? " is-small" : ""}`}
        role="img"
        aria-label={`${description.summary} ${description.others}`}
      >
        {set.ordinals.map(({ ordinal, revision, health }) => {
          const isOld = health !== "missing" && revision !== set.updateRevision;
          return (
            <span
              key={ordinal}
              class={`cell health-${health}${isOld ? " is-old" : ""}`}
              title={`${set.name}-${ordinal}: ${health}${revision ? `, revision ${revision}` : ""}`}
            >
              {set.ordinals.length > maxNumbered ? "" : ordinal}
            </span>
          );
        })}
      </div>
      <p>
        {description.summary} <span class="muted">{description.others}</span>
      </p>
      {set.blockedBy && (
        <p class="hold-up">
          <strong>Blocked:</strong> <bdi>{set.blockedBy}</bdi>
        </p>
      )}
    </section>
  );
}
