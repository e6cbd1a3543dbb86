import type { SloView } from "../../../src/monitor/feed/feed-message.ts";
import { Empty } from "../view/empty.tsx";
import { Meter } from "../view/meter.tsx";
import { describeBudget, describeBurn, percentText, toneOfBudget } from "./describe-rows.ts";

export function SlosPanel({ slos }: { readonly slos: readonly SloView[] }) {
  if (slos.length === 0) {
    return (
      <Empty title="No objectives are configured." command="kindling monitor --config monitor.yaml">
        Define objectives for pod starts under “objectives” in the monitor's configuration file:
      </Empty>
    );
  }
  const worstFirst = slos.toSorted((a, b) => a.budgetLeft - b.budgetLeft);
  return (
    <div class="scroll slos">
      {worstFirst.map((slo) => (
        <SloCard key={slo.name} slo={slo} />
      ))}
    </div>
  );
}

function SloCard({ slo }: { readonly slo: SloView }) {
  const maxBad = Math.max(1, ...slo.breaches.map(({ bad }) => bad));
  return (
    <section class="card slo">
      <header class="set-head">
        <h2>
          <bdi>{slo.name}</bdi>
        </h2>
        <p class="muted">{slo.kind}</p>
      </header>
      <p>
        <bdi>{slo.objective}</bdi>
      </p>
      <div class="budget">
        <Meter part={slo.budgetLeft > 0 ? slo.budgetLeft : 1} tone={toneOfBudget(slo.budgetLeft)} />
        <p>
          <strong>{describeBudget(slo.budgetLeft)}</strong>
          <span class="muted" title="At 1 the budget lasts exactly for its window.">
            {" "}
            · {describeBurn(slo.burnRate)}
          </span>
        </p>
      </div>
      <dl class="figures is-small">
        <div>
          <dt>Good</dt>
          <dd>{slo.total > 0 ? percentText(slo.good / slo.total) : "–"}</dd>
        </div>
        <div>
          <dt>Target</dt>
          <dd>{percentText(slo.target)}</dd>
        </div>
        <div>
          <dt>Counted</dt>
          <dd>{slo.total.toLocaleString("en")}</dd>
        </div>
      </dl>
      {slo.breaches.length > 0 && (
        <table class="breaches">
          <caption>Breaches by class</caption>
          <colgroup>
            <col class="breach-class" />
            <col />
            <col class="breach-count" />
          </colgroup>
          <thead class="offscreen">
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Bar</th>
              <th scope="col">Breaches</th>
            </tr>
          </thead>
          <tbody>
            {slo.breaches.map((breach) => (
              <tr key={breach.class}>
                <th scope="row">
                  <bdi>{breach.class}</bdi>
                </th>
                <td class="layer-meter" aria-hidden="true">
                  <Meter part={breach.bad / maxBad} tone="failing" />
                </td>
                <td class="number">
                  {breach.bad.toLocaleString("en")} of {breach.total.toLocaleString("en")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
