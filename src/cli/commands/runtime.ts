import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { untilAborted } from "../../lib/abort.ts";
import { type ImageOrder, makeImages, orderFromDaemon } from "../../runtime/control-server.ts";
import { createImages } from "../../runtime/images/create-images.ts";
import { parseRuntimeConfig } from "../../runtime/runtime-config.ts";
import { startRuntime } from "../../runtime/start-runtime.ts";
import { claimDataDir } from "../../runtime/state/claim-data-dir.ts";
import { parseGivenFile, UsageError } from "../options/command-errors.ts";
import { defaultRuntimeEndpoint } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { runtimeOfUp } from "../run/runtime-of-up.ts";
import { serveUntilStopped } from "../run/until-stopped.ts";

type RuntimeFlags = Parameters<typeof loggerOf>[0] & {
  dataDir: string;
  listen: string;
  driver: "auto" | "oci" | "host";
  network?: "cni" | "bridge" | "host";
  config?: string;
};

interface BuildFlags {
  tag: string;
  entrypoint?: string[];
  cmd?: string[];
  env?: string[];
}

const examples = `
Examples:
  kindling runtime --data-dir /var/lib/kindling/runtime --listen unix:///run/kindling/runtime.sock
  kindling runtime --driver host
  kindling runtime import busybox.tar
  kindling runtime build ./site --tag site:1`;

const importExamples = `
Examples:
  kindling runtime import app.tar                        archive from docker save or skopeo
  kindling runtime import app.tar --tag app:test
  kindling runtime --data-dir DIR import app.tar         into the data directory of a kindling runtime`;

const buildExamples = `
Examples:
  kindling runtime build ./site --tag site:1
  kindling runtime build ./root --tag app:test --cmd '["/bin/server", "--port", "8080"]' --env MODE=test`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--data-dir <dir>",
      "directory for images and containers",
      join(homedir(), ".kindling", "runtime"),
    )
    .option("--listen <unix:///path>", "socket to serve CRI on", defaultRuntimeEndpoint)
    .addOption(
      new Option("--driver <driver>", "how to run containers: oci (runc or crun) or host (only util-linux)")
        .choices(["auto", "oci", "host"])
        .default("auto"),
    )
    .addOption(
      new Option(
        "--network <network>",
        "network of pods (default: the best one that the machine supports)",
      ).choices(["cni", "bridge", "host"]),
    )
    .option(
      "--config <file>",
      "YAML file with registries (mirrors, plainHttp, certificateAuthorities), RuntimeClass handlers and pinned images",
    )
    .addHelpText("after", examples)
    .action((flags: RuntimeFlags) => serve(flags));

  command
    .command("import <file>")
    .description(
      "import the images of a docker-archive or OCI layout; into the cluster of kindling up if it is running",
    )
    .option("--tag <reference>", "name of the image (default: the names in the archive)")
    .addHelpText("after", importExamples)
    .action((file: string, flags: { tag?: string }) =>
      makeAndPrint(command, { kind: "import", path: resolve(file), tag: flags.tag }),
    );
  command
    .command("build <dir>")
    .description(
      "build an image with one layer from a directory; in the cluster of kindling up if it is running",
    )
    .requiredOption("--tag <reference>", "name of the image")
    .option("--entrypoint <json>", 'entry point: /bin/server or ["/bin/server", "-v"]', parseWords)
    .option("--cmd <json>", "command, or arguments of the entry point", parseWords)
    .option("--env <NAME=value...>", "environment variables")
    .addHelpText("after", buildExamples)
    .action((dir: string, { tag, entrypoint, cmd, env }: BuildFlags) =>
      makeAndPrint(command, {
        kind: "build",
        options: { directory: resolve(dir), tag, entrypoint, command: cmd, env },
      }),
    );
}

async function serve(flags: RuntimeFlags): Promise<void> {
  const { dataDir, listen, driver, network } = flags;
  const config = await parseGivenFile("--config", flags.config, parseRuntimeConfig);
  if (process.getuid?.() !== 0) throw new UsageError("containers need root: use sudo");
  await serveUntilStopped(async (signal) => {
    const runtime = await startRuntime({
      dataDir: resolve(dataDir),
      listen,
      driver,
      network: { wanted: network },
      config,
      logger: loggerOf(flags).component("runtime"),
      signal,
    });
    process.stdout.write(
      `CRI at ${listen}\ndriver: ${runtime.driver.reason}\nnetwork: ${runtime.network.reason}\n`,
    );
    await untilAborted(signal);
    await runtime.close();
  });
}

/** Sends the order to the running daemon, or carries it out here while holding the lock of the data directory. */
async function makeAndPrint(command: Command, order: ImageOrder): Promise<void> {
  const flags: RuntimeFlags = command.opts();
  const named = command.getOptionValueSource("dataDir") !== "default";
  const dataDir = resolve((!named && (await runtimeOfUp())?.dataDir) || flags.dataDir);
  const made = (await orderFromDaemon(dataDir, order)) ?? (await makeHere(dataDir, order));
  for (const { id, repoTags } of made) process.stdout.write(`${repoTags.join(" ") || "<none>"} ${id}\n`);
}

async function makeHere(dataDir: string, order: ImageOrder) {
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const claim = await claimDataDir(dataDir);
  try {
    const images = await createImages({ dataDir: join(dataDir, "images") });
    return await makeImages(images, order).finally(() => images.close());
  } finally {
    await claim.release();
  }
}

/** Parses a JSON array of strings, or a single word. */
function parseWords(text: string): string[] {
  if (!text.startsWith("[")) return [text];
  const words = parseJson(text);
  if (Array.isArray(words) && words.every((word) => typeof word === "string")) return words;
  throw new InvalidArgumentError('write it as a JSON array of strings: ["/bin/sh", "-c", "date"]');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
