// Clauses: 3542-8, 3542-14
import { status } from "@grpc/grpc-js";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type CriClient, connectCri } from "../../cri/cri-client.ts";
import {
  AuthConfig,
  PullImageWithProgressRequest_GranularityType as GranularityType,
  PullImageWithProgressRequest,
} from "../../cri/generated/cri.ts";
import { parseProgress } from "../../cri/progress-message.ts";
import { systemClock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";
import { silentLogger } from "../../lib/logger.ts";
import { type ContentProgress, createContentProgress } from "../../node-agent/containerd/content-progress.ts";
import { pullWithContentProgress } from "../../node-agent/containerd/content-pull.ts";
import { timeoutOnContainerd } from "../../node-agent/containerd/track-pulls.ts";
import { readDockerConfig } from "../../runtime/registry/credentials.ts";
import { parseReference } from "../../runtime/registry/reference.ts";
import { defaultRuntimeEndpoint, outputOption, runtimeEndpointOption } from "../options/common-options.ts";
import { choosePullPrinter, type PullPrinter } from "../printer/pull-printer.ts";
import { runtimeOfUp } from "../run/runtime-of-up.ts";
import { untilStopped } from "../run/until-stopped.ts";

interface PullFlags {
  runtimeEndpoint: string;
  granularity: "time" | "size" | "none";
  interval?: number;
  /** Commander drops the "no-" of --no-progress-timeout. */
  progressTimeout: number;
  creds?: string;
  output: "table" | "json";
}

const examples = `
Examples:
  kindling pull busybox
  kindling pull registry.example.com/team/app:1 --creds user:password
  kindling pull busybox --granularity size --interval 10Mi -o json
  kindling pull busybox --runtime-endpoint unix:///run/containerd/containerd.sock`;

const granularities = {
  size: GranularityType.SIZE,
  time: GranularityType.TIME,
  none: GranularityType.NONE,
} as const;

export function configure(command: Command): void {
  command
    .argument("<image>", "image name, such as busybox or registry.example.com/app:1")
    .addOption(
      runtimeEndpointOption(`the runtime of a running kindling up, otherwise ${defaultRuntimeEndpoint}`),
    )
    .addOption(
      new Option("--granularity <kind>", "interval between progress reports: by time, by size, or no reports")
        .choices(["time", "size", "none"])
        .default("time"),
    )
    .option(
      "--interval <number>",
      "seconds or bytes between progress reports: 1, 500Ki, 10Mi (default: 1 s)",
      parseAmount,
    )
    .option(
      "--no-progress-timeout <seconds>",
      "cancel the pull after this many seconds without data; 0 disables the timeout",
      parseAmount,
      0,
    )
    .option(
      "--creds <user:password>",
      "credentials for the registry (default: those that docker login stored)",
    )
    .addOption(outputOption())
    .addHelpText("after", examples)
    .action(async (image: string, flags: PullFlags, self: Command) => {
      const named = self.getOptionValueSource("runtimeEndpoint") !== "default";
      const runtimeEndpoint = (!named && (await runtimeOfUp())?.endpoint) || flags.runtimeEndpoint;
      await untilStopped((signal) => pull(image, { flags: { ...flags, runtimeEndpoint }, signal }));
    });
}

async function pull(
  image: string,
  { flags, signal }: { flags: PullFlags; signal: AbortSignal },
): Promise<void> {
  const request = await pullRequest(image, flags);
  const client = connectCri(flags.runtimeEndpoint);
  const format = flags.output;
  const printer = choosePullPrinter({ image, output: process.stdout, format, clock: systemClock });
  try {
    const call = { request, signal, printer };
    await pullWithProgress(client, call).catch(async (error: unknown) => {
      if (!isGrpcError(error, status.UNIMPLEMENTED)) throw error;
      const content = await findContentProgress(client, signal);
      if (content) return pullFromContainerd(client, content, { ...call, image, flags });
      console.error(
        "kindling: this runtime does not report progress (it has no PullImageWithProgress); progress and --no-progress-timeout are not available",
      );
      printer.end(await pullPlainly(client, call));
    });
  } catch (error) {
    printer.end(undefined);
    if (isGrpcError(error)) throw new Error(describe(error, { image, endpoint: flags.runtimeEndpoint }));
    throw error;
  } finally {
    client.close();
  }
}

interface PullCall {
  readonly request: PullImageWithProgressRequest;
  readonly signal: AbortSignal;
  readonly printer: PullPrinter;
}

async function pullWithProgress(client: CriClient, { request, signal, printer }: PullCall): Promise<void> {
  let imageRef: string | undefined;
  for await (const response of client.images.pullImageWithProgress(request, { signal })) {
    imageRef = response.imageRef;
    printer.report(parseProgress(response), imageRef);
  }
  printer.end(imageRef);
}

/** Progress from containerd's content store. Undefined if the runtime is not containerd. */
async function findContentProgress(
  { runtime, contentStore: store }: CriClient,
  signal: AbortSignal,
): Promise<ContentProgress | undefined> {
  try {
    const { runtimeName } = await runtime.version({ version: "0.1.0" }, { signal });
    if (runtimeName !== "containerd" || !store) return undefined;
    await store.statuses(signal);
  } catch (error) {
    if (isGrpcError(error, status.UNIMPLEMENTED)) return undefined;
    throw error;
  }
  return createContentProgress({ store, clock: systemClock, logger: silentLogger });
}

/** Pulls with containerd, whose content store is read each second. */
async function pullFromContainerd(
  client: CriClient,
  content: ContentProgress,
  call: PullCall & { readonly image: string; readonly flags: PullFlags },
): Promise<void> {
  const { image, flags, signal, printer } = call;
  const timeoutMs = timeoutOnContainerd(flags.progressTimeout);
  const isDue = createReportFilter(flags);
  let last: PullProgress | undefined;
  const imageRef = await pullWithContentProgress(
    { content, clock: systemClock, timeoutMs, maxRetries: 0 },
    {
      image,
      signal,
      pull: (limited) => pullPlainly(client, { ...call, signal: limited }),
      onReport(progress) {
        last = progress;
        if (isDue(progress, systemClock.now())) printer.report(progress, image);
      },
    },
  );
  if (last && flags.granularity !== "none") printer.report(complete(last), imageRef);
  printer.end(imageRef);
}

/** Selects the reports that the flags request. */
function createReportFilter({ granularity, interval }: PullFlags) {
  let last = { offset: 0, atMs: Number.NEGATIVE_INFINITY };
  const intervalMs = (interval ?? 1) * 1_000;
  const intervalBytes = interval || 2 ** 30;
  return ({ offset }: PullProgress, now: number): boolean => {
    const isDue =
      granularity === "time"
        ? now - last.atMs >= intervalMs - 500
        : granularity === "size" && offset - last.offset >= intervalBytes;
    if (isDue) last = { offset, atMs: now };
    return isDue;
  };
}

/** Progress of a pull that has ended: all its layers are there. */
function complete({ total, layers }: PullProgress): PullProgress {
  const finished = layers.map((layer) =>
    layer.stage === "exists" ? layer : { ...layer, offset: layer.total, stage: "done" },
  );
  return { offset: total, total, layers: finished };
}

async function pullPlainly(
  client: CriClient,
  { request, signal }: Pick<PullCall, "request" | "signal">,
): Promise<string> {
  if (!request.request) throw new Error("the request names no image");
  const plain = { ...request.request, noProgressTimeout: request.noProgressTimeout };
  const timeoutMs = Number.POSITIVE_INFINITY;
  return (await client.images.pullImage(plain, { signal, timeoutMs })).imageRef;
}

async function pullRequest(image: string, flags: PullFlags): Promise<PullImageWithProgressRequest> {
  const interval = flags.interval ?? (flags.granularity === "time" ? 1 : 0);
  return PullImageWithProgressRequest.fromPartial({
    request: { image: { image }, auth: await authFor(image, flags.creds) },
    granularityType: granularities[flags.granularity],
    interval: { value: BigInt(interval) },
    noProgressTimeout: { value: flags.progressTimeout },
    verbosity: true,
  });
}

async function authFor(image: string, creds: string | undefined): Promise<AuthConfig | undefined> {
  if (creds !== undefined) {
    const colon = creds.indexOf(":");
    const [username, password] = colon < 0 ? [creds, ""] : [creds.slice(0, colon), creds.slice(colon + 1)];
    return AuthConfig.fromPartial({ username, password });
  }
  const found = (await readDockerConfig()).get(parseReference(image).host);
  return found && AuthConfig.fromPartial(found);
}

function describe(
  error: { code: status; details: string },
  { image, endpoint }: { image: string; endpoint: string },
): string {
  if (error.code === status.UNAVAILABLE && /No connection established/.test(error.details))
    return `no runtime responds at ${endpoint}; start one with kindling up or kindling runtime, or set --runtime-endpoint`;
  // Messages of Kindling's runtime name the image too.
  return `cannot pull ${image}: ${error.details.replace(/^pulling \S+: /, "")}`;
}

const amountUnits: Readonly<Record<string, number>> = { "": 1, Ki: 1_024, Mi: 1_024 ** 2, Gi: 1_024 ** 3 };

function parseAmount(text: string): number {
  const [, digits = "", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
  if (digits === "") throw new InvalidArgumentError("must be a whole number, with Ki, Mi or Gi for sizes");
  return Number(digits) * (amountUnits[unit] ?? 1);
}
