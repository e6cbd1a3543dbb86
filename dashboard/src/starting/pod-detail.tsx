import { useEffect, useRef } from "preact/hooks";
import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import type { PodSamples } from "../feed/feed-state.ts";
import { Command } from "../view/command.tsx";
import { toneOfPod } from "../view/stages.ts";
import { describeProbe, describeRecovery, splitFixes } from "./describe-pod.ts";
import { ProbePips } from "./probe-pips.tsx";
import { PullProgress } from "./pull-progress.tsx";
import { Waterfall } from "./waterfall.tsx";

/** Details of a pod: explanation, fix, waterfall, pulls and probes. */
export function PodDetail(props: {
  readonly pod: PodView;
  readonly samples: PodSamples | undefined;
  readonly now: number;
  readonly onClose: () => void;
}) {
  const { pod, now } = props;
  const close = useRef(props.onClose);
  close.current = props.onClose;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape") close.current();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <aside class="detail" aria-label={`Pod ${pod.namespace}/${pod.name}`}>
      <header class="detail-head">
        <div>
          <h2>
            <bdi>{pod.name}</bdi>
          </h2>
          <p class="muted">
            <bdi>{pod.namespace}</bdi> · <bdi>{pod.owner}</bdi> ·{" "}
            {pod.node ? <bdi>{pod.node}</bdi> : "no node yet"}
          </p>
        </div>
        <button type="button" class="close" aria-label="Close the pod" onClick={props.onClose}>
          ×
        </button>
      </header>
      <Why pod={pod} />
      <Waterfall pod={pod} now={now} />
      {pod.pulls.length > 0 && (
        <section>
          <h3>Pulls</h3>
          {pod.pulls.map((pull) => (
            <PullProgress
              key={`${pull.container} ${pull.image}`}
              pull={pull}
              samples={props.samples}
              now={now}
            />
          ))}
        </section>
      )}
      {pod.probes.length > 0 && (
        <section>
          <h3>Startup probes</h3>
          {pod.probes.map((probe) => (
            <div key={probe.container} class="probe">
              <bdi class="probe-name">{probe.container}</bdi>
              <ProbePips probe={probe} />
              <p class="muted">{describeProbe(probe)}</p>
            </div>
          ))}
        </section>
      )}
    </aside>
  );
}

function Why({ pod }: { readonly pod: PodView }) {
  return (
    <section class={`why tone-${pod.isTransient ? toneOfPod(pod.stage) : "failing"}`}>
      <h3>
        Why it is {pod.stage === "ready" || pod.stage === "ended" ? pod.stage : `in stage “${pod.stage}”`}
      </h3>
      <p class="because">
        <bdi>{pod.because}</bdi>
      </p>
      <p class="recovery">{describeRecovery(pod)}</p>
      {splitFixes(pod.fix).map(({ advice, command }) => (
        <div key={`${advice} ${command}`}>
          {advice && (
            <p>
              To do: <bdi>{advice}</bdi>
            </p>
          )}
          {command && <Command command={command} />}
        </div>
      ))}
    </section>
  );
}
