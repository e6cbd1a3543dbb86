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

/** All pods that are on their way, and one of them in full. */
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
      <Empty title="No pod is starting." command="kubectl run hello --image=busybox --command -- sleep 3600">
        Every pod that starts shows up here at once. Try one:
      </Empty>
    );
  }
  const shown = selected === undefined ? undefined : starting.get(selected);
  // A stage that has emptied stays to be seen as long as it is chosen.
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
              label: stageWords(id),
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
          <Empty title="No pod is in this stage now." />
        )}
        {startingTotal > starting.size && (
          <p class="more-pods">
            {(startingTotal - starting.size).toLocaleString("en")} more pods are starting than this page is
            told of.
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
            // The button that had the focus is gone with the pod.
            document.getElementById("pods")?.focus();
          }}
        />
      )}
    </div>
  );
}

function stageWords(stage: StageFilter): string {
  if (stage === "all") return "All";
  return stage === "stuck" ? "Needs you" : stage.charAt(0).toUpperCase() + stage.slice(1);
}

function toneOfFilter(stage: StageFilter): string | undefined {
  if (stage === "all") return undefined;
  return stage === "stuck" ? "failing" : toneOfPod(stage);
}
