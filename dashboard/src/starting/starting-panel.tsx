import { useMemo, useState } from "preact/hooks";
import type { FeedState } from "../feed/feed-state.ts";
import type { FeedStore } from "../feed/feed-store.ts";
import { Choice } from "../view/choice.tsx";
import { Empty, NoMatch } from "../view/empty.tsx";
import { useCountingMs, useTick } from "../view/hooks.ts";
import { toneOfPod } from "../view/stages.ts";
import { sharedAxisMs } from "./layout-spans.ts";
import { filterPods, type StageFilter, tallyStages } from "./order-pods.ts";
import { PodDetail } from "./pod-detail.tsx";
import { PodList } from "./pod-list.tsx";

/** List of starting pods with details of the selected one. */
export function StartingPanel(props: {
  readonly store: FeedStore;
  readonly state: FeedState;
  readonly filter: string;
  readonly onClearFilter: () => void;
}) {
  const { starting, startingTotal, samples } = props.state;
  const [stage, setStage] = useState<StageFilter>("all");
  const [selected, setSelected] = useState<string>();
  useTick(useCountingMs(), starting.size > 0);
  const now = props.store.nowMs();
  const tally = useMemo(() => tallyStages(starting.values()), [starting]);
  const pods = useMemo(
    () => filterPods(starting.values(), { filter: props.filter, stage }),
    [starting, props.filter, stage],
  );
  const second = Math.floor(now / 1_000);
  const axisMs = useMemo(() => sharedAxisMs(pods, (second + 1) * 1_000), [pods, second]);
  if (starting.size === 0) {
    return (
      <Empty
        title="No pods are starting."
        command="kubectl run hello --image=busybox --command -- sleep 3600"
      >
        Starting pods appear here immediately. Try one:
      </Empty>
    );
  }
  const shown = selected === undefined ? undefined : starting.get(selected);
  // The selected stage stays visible even if it is empty.
  const stages = tally.some((each) => each.stage === stage) ? tally : [...tally, { stage, count: 0 }];
  return (
    <div class={`starting${shown ? " has-detail" : ""}`}>
      <section class="starting-list" aria-label="Pods that are starting">
        <div class="toolbar">
          <Choice
            label="Stage"
            options={stages.map(({ stage: id, count }) => ({
              id,
              count,
              label: stageLabel(id),
              tone: toneOfFilter(id),
            }))}
            selected={stage}
            onSelect={setStage}
          />
        </div>
        {pods.length > 0 ? (
          <PodList
            pods={pods}
            samples={samples}
            now={now}
            axisMs={axisMs}
            selected={shown?.uid}
            onSelect={setSelected}
          />
        ) : props.filter ? (
          <NoMatch filter={props.filter} onClear={props.onClearFilter} />
        ) : (
          <Empty title="No pods are in this stage." />
        )}
        {startingTotal > starting.size && (
          <p class="more-pods">
            {(startingTotal - starting.size).toLocaleString("en")} more pods are starting than this page can
            show.
          </p>
        )}
      </section>
      {shown && (
        <PodDetail
          pod={shown}
          samples={samples.get(shown.uid)}
          now={now}
          onClose={() => {
            setSelected(undefined);
            // The focused button was removed with the details.
            document.getElementById("pods")?.focus();
          }}
        />
      )}
    </div>
  );
}

function stageLabel(stage: StageFilter): string {
  if (stage === "all") return "All";
  return stage === "stuck" ? "Needs action" : stage.charAt(0).toUpperCase() + stage.slice(1);
}

function toneOfFilter(stage: StageFilter): string | undefined {
  if (stage === "all") return undefined;
  return stage === "stuck" ? "failing" : toneOfPod(stage);
}
