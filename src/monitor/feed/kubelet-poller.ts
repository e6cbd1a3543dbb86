import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import type { KnownAdvice, KnownBudget } from "../../explain/explanation.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { PullView } from "./feed-message.ts";
import { createPullReader, parseStartupProbes } from "./pull-reader.ts";

/** State of a starting pod that only its kubelet knows. */
export interface KubeletPodState {
  readonly pulls: readonly PullView[];
  readonly budgets: readonly KnownBudget[];
  readonly advice: readonly KnownAdvice[];
}

export interface PollTarget {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly about: ReadonlySet<"pulls" | "budgets">;
}

export interface KubeletPoller {
  get(uid: string): KubeletPodState;
  /** Starts polling the pod's kubelet. `undefined` stops polling and drops its state. */
  setTarget(uid: string, target: PollTarget | undefined): void;
  /** Sends the requests that are due, without waiting for the responses. */
  pollDue(signal: AbortSignal): void;
  /** Sets the listener for new state of a pod. */
  onUpdate(listener: (uid: string) => void): void;
  clear(): void;
}

interface KubeletPollerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Polled {
  target: PollTarget;
  polledMs: number;
}

const intervalMs = 1_000;
/** Maximum number of concurrent requests; they pass through the API server. */
const maxOpen = 10;
const timeoutMs = 3_000;
/** Retry delay for nodes without Kindling's kubelet and without an agent, or that reject the request. */
const rejectedRetryMs = 60_000;
const failedRetryMs = 5_000;

const none: KubeletPodState = { pulls: [], budgets: [], advice: [] };

export function createKubeletPoller(deps: KubeletPollerDeps): KubeletPoller {
  const { clock, logger } = deps;
  /** Ordered by the time of the last request. */
  const targets = new Map<string, Polled>();
  const states = new Map<string, KubeletPodState>();
  const skipUntilMs = new Map<string, number>();
  const open = new Set<string>();
  const readPulls = createPullReader(deps);
  let notify: (uid: string) => void = () => {};

  async function poll({ uid, namespace, name, node, about }: PollTarget, signal: AbortSignal): Promise<void> {
    const read = (path: string) =>
      deps.client.request<unknown>("GET", `/api/v1/nodes/${node}/proxy/${path}/${namespace}/${name}`, {
        signal,
      });
    try {
      const state = {
        pulls: about.has("pulls") ? await readPulls({ node, namespace, name }, signal) : [],
        ...(about.has("budgets")
          ? parseStartupProbes(await read("startupProbes"))
          : { budgets: [], advice: [] }),
      };
      if (!targets.has(uid)) return;
      states.set(uid, state);
      notify(uid);
    } catch (error) {
      // The kubelet is Kindling's, but does not know the pod yet or any more.
      if (error instanceof StatusError && error.code === 404 && error.message.includes("does not exist"))
        return;
      const isRejected = error instanceof StatusError && error.code < 500;
      skipUntilMs.set(node, clock.now() + (isRejected ? rejectedRetryMs : failedRetryMs));
      logger.debug("failed to read the state of starting pods from the kubelet", { node, error });
    }
  }

  return {
    get: (uid) => states.get(uid) ?? none,
    setTarget(uid, target) {
      const known = targets.get(uid);
      if (!target) {
        targets.delete(uid);
        states.delete(uid);
      } else if (known) known.target = target;
      else targets.set(uid, { target, polledMs: Number.NEGATIVE_INFINITY });
    },
    pollDue(signal) {
      const now = clock.now();
      for (const [uid, entry] of targets) {
        if (open.size >= maxOpen) return;
        if (open.has(uid) || now - entry.polledMs < intervalMs) continue;
        targets.delete(uid);
        targets.set(uid, { ...entry, polledMs: now });
        if ((skipUntilMs.get(entry.target.node) ?? 0) > now) continue;
        open.add(uid);
        void withDeadline({ clock, timeoutMs, signal }, (limited) => poll(entry.target, limited)).finally(
          () => {
            open.delete(uid);
          },
        );
      }
    },
    onUpdate(listener) {
      notify = listener;
    },
    clear() {
      targets.clear();
      states.clear();
      skipUntilMs.clear();
    },
  };
}
