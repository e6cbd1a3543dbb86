import { once } from "node:events";
import { tmpdir } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { RuntimeChoice } from "../../cluster/data-dir/data-dir-files.ts";
import { checkContainers } from "../../cluster/host/check-containers.ts";
import { findPortHolder } from "../../cluster/host/ports.ts";
import { defaultKubeletConfiguration } from "../../kubelet/config/kubelet-configuration.ts";
import { systemClock } from "../../lib/clock.ts";
import { createLogger, silentLogger } from "../../lib/logger.ts";
import { CleanUpFailure, sweepLeftovers } from "../../tour/model/tour-cluster.ts";
import { runTour, steps } from "../../tour/tour.ts";
import { UsageError } from "../options/command-errors.ts";
import { formatTable, wantsColor } from "../printer/terminal-text.ts";
import { createTourPrinter } from "../printer/tour-printer.ts";
import { stopOnce } from "../run/closed-output.ts";
import { explainStart } from "../run/explain-start.ts";
import { untilStopped } from "../run/until-stopped.ts";

interface TourFlags {
  runtime?: "auto" | "oci" | "host" | "simulated";
  step?: number;
  list?: boolean;
  pause?: boolean;
  debug?: boolean;
}

const examples = `
Examples:
  sudo kindling tour
  kindling tour --runtime simulated
  kindling tour --list
  kindling tour --step 5 --pause`;

/** Time that the state of a pod is shown, so that it can be read. */
const readingMs = 2_500;

export function configure(command: Command): void {
  command
    .addOption(
      new Option(
        "--runtime <runtime>",
        "container runtime (default: auto, or simulated if containers cannot run, for example without root)",
      ).choices(["auto", "oci", "host", "simulated"]),
    )
    .option("--step <number>", "run only this step", parseStep)
    .option("--list", "list the steps and exit")
    .option("--pause", "wait for Enter between steps, for example to use kubectl")
    .option("--debug", "also show the log of the cluster")
    .addHelpText("after", examples)
    .action(run);
}

async function run(flags: TourFlags): Promise<void> {
  if (flags.list) return void process.stdout.write(listSteps(wantsColor(process.stdout)));
  if (flags.pause && !process.stdin.isTTY)
    throw new UsageError("--pause waits for Enter, but standard input is not a terminal: omit it");
  const runtime = await chooseRuntime(flags.runtime);
  const chosen = steps
    .map((step, i) => ({ number: i + 1, step }))
    .filter(({ number }) => flags.step === undefined || number === flags.step);
  const logger = flags.debug ? createLogger({ format: "text", level: "debug" }) : silentLogger;
  const printer = createTourPrinter({ output: process.stdout, clock: systemClock });
  // A closed terminal: the tour still has to clean up.
  process.on("SIGHUP", stopOnce);
  await untilStopped(async (signal) => {
    await sweepLeftovers({ logger });
    const outcomes = await runTour({
      steps: chosen,
      of: steps.length,
      runtime,
      features: defaultFeatures,
      // As often as events report the progress of a pull.
      kubeletConfig: {
        ...defaultKubeletConfiguration,
        port: 0,
        imagePullProgress: { kind: "time", intervalMs: 10_000 },
      },
      logger,
      clock: systemClock,
      signal,
      paceMs: process.stdout.isTTY ? readingMs : 0,
      emit: printer.print,
      pause: () => (flags.pause ? waitForEnter(signal) : Promise.resolve()),
    }).catch(async (error: unknown) => {
      if (!signal.aborted || error instanceof CleanUpFailure)
        throw await explainStart(error, { dataDir: tmpdir(), holderOf: findPortHolder });
      throw new Error("the tour was stopped; its cluster is removed");
    });
    const failed = outcomes.filter(({ problem }) => problem !== undefined).length;
    if (failed > 0) throw new Error(`${failed} of ${outcomes.length} steps failed`);
  });
}

async function chooseRuntime(wanted: TourFlags["runtime"]): Promise<RuntimeChoice> {
  const isRoot = process.getuid?.() === 0;
  if (wanted === "simulated" || (wanted === undefined && !isRoot)) return { kind: "simulated" };
  if (!isRoot) throw new UsageError("containers need root: use sudo or --runtime simulated");
  const driver = wanted ?? "auto";
  const problem = await checkContainers(driver);
  if (!problem?.fatal) return { kind: "own", driver };
  if (wanted !== undefined) throw new Error(problem.sentence);
  return { kind: "simulated" };
}

function parseStep(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= steps.length) return number;
  throw new InvalidArgumentError(`must be a step from 1 to ${steps.length}; see --list`);
}

function listSteps(color: boolean): string {
  return formatTable(
    ["STEP", "SHOWS", "PROPOSAL"],
    steps.map(({ title, proposal }, i) => [String(i + 1), title, proposal]),
    { color },
  );
}

/** Waits for Enter or the end of standard input. */
async function waitForEnter(signal: AbortSignal): Promise<void> {
  const { stdin, stdout } = process;
  stdout.write("\nPress Enter to continue ");
  const over = new AbortController();
  const either = { signal: AbortSignal.any([signal, over.signal]) };
  stdin.resume();
  try {
    await Promise.race([once(stdin, "data", either), once(stdin, "end", either)]);
  } finally {
    over.abort();
    stdin.pause();
  }
}
