import { formatDuration } from "../text/format-duration.ts";
import { percent } from "../view/percent.ts";
import { type Stage, stageLabels, stages } from "../view/stages.ts";

/** The stages one after the other, as long as they took; all bars of a table share their scale. */
export function StageMix(props: {
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
    <span class="mix" role="img" aria-label={words || "Stages are not known"} title={words}>
      {parts.map(({ stage, ms }) => (
        <span key={stage} class={`mix-part tone-${stage}`} style={{ width: percent(ms / props.longest) }} />
      ))}
    </span>
  );
}
