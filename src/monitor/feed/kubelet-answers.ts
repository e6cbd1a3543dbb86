import { StatusError } from "../../api/status-error.ts";
import type { Client } from "../../client/client.ts";
import { withDeadline } from "../../client/with-deadline.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { KnownAdvice, KnownBudget } from "../explain/explanation.ts";
import type { PullView } from "./feed-message.ts";
import { parsePulls, parseStartup } from "./parse-answers.ts";

/** What only the kubelet of its node knows of a pod. */
export interface KubeletAnswer {
  readonly pulls: readonly PullView[];
  readonly budgets: readonly KnownBudget[];
  readonly advice: readonly KnownAdvice[];
}

export interface Question {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly about: ReadonlySet<"pulls" | "budgets">;
}

export interface KubeletAnswers {
  of(uid: string): KubeletAnswer;
  /** From now on the pod's kubelet is asked again and again; `undefined` ends that and forgets what it said. */
  want(uid: string, question: Question | undefined): void;
  /** Asks those for whom it is time. Does not wait for the answers. */
  askDue(signal: AbortSignal): void;
  clear(): void;
}

interface KubeletAnswersDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
  onAnswer(uid: string): void;
}

interface Wanted {
  question: Question;
  askedMs: number;
}

const everyMs = 1_000;
/** On their way at one time, however many pods start: the answers pass through the API server. */
const mostOpen = 10;
const timeoutMs = 3_000;
/** Kubelets that are not Kindling's have no such page, and not everybody may ask. */
const refusedMs = 60_000;
const failedMs = 5_000;

const none: KubeletAnswer = { pulls: [], budgets: [], advice: [] };

export function createKubeletAnswers(deps: KubeletAnswersDeps): KubeletAnswers {
  const { clock, logger } = deps;
  /** In the order of asking: who was asked goes to the end. */
  const wanted = new Map<string, Wanted>();
  const answers = new Map<string, KubeletAnswer>();
  const silentUntilMs = new Map<string, number>();
  const open = new Set<string>();

  async function ask({ uid, namespace, name, node, about }: Question, signal: AbortSignal): Promise<void> {
    const read = (page: string) =>
      deps.client.request<unknown>("GET", `/api/v1/nodes/${node}/proxy/${page}/${namespace}/${name}`, {
        signal,
      });
    try {
      const answer = {
        pulls: about.has("pulls") ? parsePulls(await read("imagePullProgress")) : [],
        ...(about.has("budgets") ? parseStartup(await read("startupProbes")) : { budgets: [], advice: [] }),
      };
      if (!wanted.has(uid)) return;
      answers.set(uid, answer);
      deps.onAnswer(uid);
    } catch (error) {
      // Our kubelet, and a pod that it does not know yet or any more.
      if (error instanceof StatusError && error.code === 404 && error.message.includes("does not exist"))
        return;
      const isRefused = error instanceof StatusError && error.code < 500;
      silentUntilMs.set(node, clock.now() + (isRefused ? refusedMs : failedMs));
      logger.debug("the kubelet does not tell how pods of its node start", { node, error });
    }
  }

  return {
    of: (uid) => answers.get(uid) ?? none,
    want(uid, question) {
      const known = wanted.get(uid);
      if (!question) {
        wanted.delete(uid);
        answers.delete(uid);
      } else if (known) known.question = question;
      else wanted.set(uid, { question, askedMs: Number.NEGATIVE_INFINITY });
    },
    askDue(signal) {
      const now = clock.now();
      for (const [uid, entry] of wanted) {
        if (open.size >= mostOpen) return;
        if (open.has(uid) || now - entry.askedMs < everyMs) continue;
        wanted.delete(uid);
        wanted.set(uid, { ...entry, askedMs: now });
        if ((silentUntilMs.get(entry.question.node) ?? 0) > now) continue;
        open.add(uid);
        void withDeadline({ clock, timeoutMs, signal }, (limited) => ask(entry.question, limited)).finally(
          () => {
            open.delete(uid);
          },
        );
      }
    },
    clear() {
      wanted.clear();
      answers.clear();
      silentUntilMs.clear();
    },
  };
}
