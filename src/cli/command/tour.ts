import { once } from "node:events";
import { tmpdir } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultFeatures } from "../../api/feature-gates.ts";
import { checkContainers } from "../../cluster/check-containers.ts";
import { findPortHolder } from "../../cluster/find-port-holder.ts";
import type { RuntimeChoice } from "../../cluster/node.ts";
import { defaultKubeletConfiguration } from "../../kubelet/configuration/kubelet-configuration.ts";
import { systemClock } from "../../lib/clock.ts";
import { createLogger, silentLogger } from "../../lib/logger.ts";
import { steps } from "../../tour/steps.ts";
import { runTour } from "../../tour/tour.ts";
import { sweepLeftovers } from "../../tour/tour-folder.ts";
import { CleanUpFailure } from "../../tour/tour-ground.ts";
import { explainStart } from "../explain-start.ts";
import { formatTable } from "../printer/table.ts";
import { wantsColor } from "../printer/terminal-text.ts";
import { createTourPrinter } from "../printer/tour-printer.ts";
import { untilStopped } from "../until-stopped.ts";
import { UsageError } from "../usage-error.ts";

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

/** For one look at the state of a pod. */
const readingMs = 2_500;

export function configure(command: Command): void {
  command
    .addOption(
      new Option(
        "--runtime <runtime>",
        "what runs containers (default: auto; simulated where they cannot run, as without root)",
      ).choices(["auto", "oci", "host", "simulated"]),
    )
    .option("--step <number>", "show this one alone", parseStep)
    .option("--list", "name the steps, and show none")
    .option("--pause", "wait for Enter between steps, to look around with kubectl")
    .option("--debug", "also show what the cluster logs")
    .addHelpText("after", examples)
    .action(run);
}

async function run(flags: TourFlags): Promise<void> {
  if (flags.list) return void process.stdout.write(listSteps(wantsColor(process.stdout)));
  if (flags.pause && !process.stdin.isTTY)
    throw new UsageError("--pause waits for Enter, and nobody is at a terminal: leave it out");
  const runtime = await chooseRuntime(flags.runtime);
  const chosen = steps
    .map((step, i) => ({ number: i + 1, step }))
    .filter(({ number }) => flags.step === undefined || number === flags.step);
  const logger = flags.debug ? createLogger({ format: "text", level: "debug" }) : silentLogger;
  const printer = createTourPrinter({ output: process.stdout, clock: systemClock });
  stopWithReader();
  await untilStopped(async (signal) => {
    await sweepLeftovers({ logger });
    const outcomes = await runTour({
      steps: chosen,
      of: steps.length,
      runtime,
      features: defaultFeatures,
      // As often as events may tell of a pull.
      kubeletConfig: {
        ...defaultKubeletConfiguration,
        port: 0,
        imagePullProgress: { kind: "time", intervalMs: 10_000 },
      },
      logger,
      clock: systemClock,
      signal,
      paceMs: process.stdout.isTTY ? readingMs : 0,
      tell: printer.tell,
      pause: () => (flags.pause ? waitForEnter(signal) : Promise.resolve()),
    }).catch(async (error: unknown) => {
      if (!signal.aborted || error instanceof CleanUpFailure)
        throw await explainStart(error, { dataDir: tmpdir(), holderOf: findPortHolder });
      throw new Error("the tour was stopped; nothing of it is left");
    });
    const failed = outcomes.filter(({ problem }) => problem !== undefined).length;
    if (failed > 0) throw new Error(`${failed} of ${outcomes.length} steps did not do what they show`);
  });
}

/** Nobody reads any more (`| head`, a terminal that was closed): the tour still has to clear up. */
function stopWithReader(): void {
  let stopping = false;
  const stop = () => {
    if (!stopping) process.kill(process.pid, "SIGTERM");
    stopping = true;
  };
  process.stdout.on("error", stop);
  process.stderr.on("error", stop);
  process.on("SIGHUP", stop);
}

async function chooseRuntime(wanted: TourFlags["runtime"]): Promise<RuntimeChoice> {
  const isRoot = process.getuid?.() === 0;
  if (wanted === "simulated" || (wanted === undefined && !isRoot)) return { kind: "simulated" };
  if (!isRoot) throw new UsageError("containers need root: run it with sudo, or with --runtime simulated");
  const driver = wanted ?? "auto";
  const problem = await checkContainers(driver);
  if (!problem?.fatal) return { kind: "own", driver };
  if (wanted !== undefined) throw new Error(problem.sentence);
  return { kind: "simulated" };
}

function parseStep(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= steps.length) return number;
  throw new InvalidArgumentError(`there are steps 1 to ${steps.length}; see --list`);
}

function listSteps(color: boolean): string {
  return formatTable(
    ["STEP", "SHOWS", "PROPOSAL"],
    steps.map(({ title, proposal }, i) => [String(i + 1), title, proposal]),
    { color },
  );
}

/** Enter, or the end of what is typed. */
async function waitForEnter(signal: AbortSignal): Promise<void> {
  const { stdin, stdout } = process;
  stdout.write("\nEnter goes on ");
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
