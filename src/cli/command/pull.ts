import { status } from "@grpc/grpc-js";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type CriClient, connectCri } from "../../cri/cri-client.ts";
import {
  AuthConfig,
  PullImageWithProgressRequest_GranularityType as GranularityType,
  PullImageWithProgressRequest,
  type PullImageWithProgressResponse,
} from "../../cri/generated/cri.ts";
import { systemClock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { readDockerConfig } from "../../runtime/registry/credentials.ts";
import { parseReference } from "../../runtime/registry/reference.ts";
import { outputOption } from "../output-option.ts";
import { choosePullPrinter, type PullPrinter } from "../printer/pull-printer.ts";
import type { PullView } from "../printer/pull-progress.ts";
import { defaultRuntimeEndpoint, runtimeEndpointOption } from "../runtime-endpoint-option.ts";
import { runtimeOfUp } from "../runtime-of-up.ts";
import { untilStopped } from "../until-stopped.ts";

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
    .argument("<image>", "the image's name, such as busybox or registry.example.com/app:1")
    .addOption(runtimeEndpointOption(`that of kindling up where it runs, else ${defaultRuntimeEndpoint}`))
    .addOption(
      new Option("--granularity <kind>", "what reports are metered by")
        .choices(["time", "size", "none"])
        .default("time"),
    )
    .option(
      "--interval <number>",
      "seconds or bytes between reports: 1, 500Ki, 10Mi (default: 1 s)",
      parseAmount,
    )
    .option(
      "--no-progress-timeout <seconds>",
      "give up after so long without one byte; 0: never",
      parseAmount,
      0,
    )
    .option("--creds <user:password>", "credentials for the registry (default: those of docker login)")
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
    await pullWithProgress(client, { request, signal, printer }).catch((error: unknown) => {
      if (!isGrpcError(error, status.UNIMPLEMENTED)) throw error;
      console.error("kindling: this runtime does not report progress; pulling without");
      return pullPlainly(client, { request, signal, printer });
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
  let last: PullView | undefined;
  for await (const response of client.images.pullImageWithProgress(request, { signal })) {
    last = viewOf(response);
    printer.report(last);
  }
  printer.end(last?.imageRef);
}

async function pullPlainly(client: CriClient, { request, signal, printer }: PullCall): Promise<void> {
  if (!request.request) return;
  const plain = { ...request.request, noProgressTimeout: request.noProgressTimeout };
  const timeoutMs = Number.POSITIVE_INFINITY;
  const { imageRef } = await client.images.pullImage(plain, { signal, timeoutMs });
  printer.end(imageRef);
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

function viewOf({ imageRef, offset, total, details }: PullImageWithProgressResponse): PullView {
  return {
    imageRef,
    offset: Number(offset?.value ?? 0),
    total: Number(total?.value ?? 0),
    layers: details.map((detail) => ({
      layer: detail.layer,
      offset: Number(detail.offset?.value ?? 0),
      total: Number(detail.total?.value ?? 0),
      stage: detail.stage,
    })),
  };
}

function describe(
  error: { code: status; details: string },
  { image, endpoint }: { image: string; endpoint: string },
): string {
  if (error.code === status.UNAVAILABLE && /No connection established/.test(error.details))
    return `no runtime answers at ${endpoint}; start one with kindling up or kindling runtime, or say where with --runtime-endpoint`;
  return `cannot pull ${image}: ${error.details}`;
}

const amountUnits: Readonly<Record<string, number>> = { "": 1, Ki: 1_024, Mi: 1_024 ** 2, Gi: 1_024 ** 3 };

function parseAmount(text: string): number {
  const [, digits = "", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
  if (digits === "") throw new InvalidArgumentError("a whole number is wanted, with Ki, Mi or Gi for sizes");
  return Number(digits) * (amountUnits[unit] ?? 1);
}
