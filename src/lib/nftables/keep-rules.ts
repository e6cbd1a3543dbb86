import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { WakeUp } from "../wake-up.ts";

/** Rules of the kernel that follow a changing state. */
export interface KeptRules {
  /** Subject of log messages: `services`. */
  readonly of: string;
  /** Woken by every change. */
  readonly changes: WakeUp;
  /** Whether the rules reflect all changes. */
  isClean(): boolean;
  /** Applies the changes. `isClean` stays false after a failure. */
  sync(): Promise<void>;
  /** Whether the written rules still exist. Another program may have removed them. */
  isIntact(): Promise<boolean>;
  /** Makes the next sync write everything. */
  invalidate(): void;
}

/** Interval at which rules that another program removed are found. */
const checkIntervalMs = 30_000;
/** Delays after failed syncs. */
const retryMs = { first: 500, last: 10_000 };

/** Keeps rules in sync until the signal aborts. Failures are retried. */
export async function keepRules(
  rules: KeptRules,
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  let delayMs = retryMs.first;
  let checkAt = clock.now() + checkIntervalMs;
  while (!signal.aborted) {
    const next = rules.changes.next();
    try {
      if (!rules.isClean()) await rules.sync();
      else if (clock.now() >= checkAt) {
        checkAt = clock.now() + checkIntervalMs;
        if (!(await rules.isIntact())) {
          logger.warn(`the rules of ${rules.of} were removed by another program; writing them again`);
          rules.invalidate();
          continue;
        }
      }
      delayMs = retryMs.first;
      await next.orAt(checkAt, { clock, signal });
    } catch (error) {
      if (signal.aborted) break;
      logger.error(`cannot write the rules of ${rules.of}; trying again in ${delayMs} ms`, { error });
      await clock.sleep(delayMs, signal).catch(() => {});
      delayMs = Math.min(delayMs * 2, retryMs.last);
    }
  }
}
