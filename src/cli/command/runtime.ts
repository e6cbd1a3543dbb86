import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { untilAborted } from "../../lib/until-aborted.ts";
import { type ImageOrder, makeImages, orderFromDaemon } from "../../runtime/control-server.ts";
import { createImages } from "../../runtime/image/create-images.ts";
import { parseRuntimeConfig } from "../../runtime/runtime-config.ts";
import { startRuntime } from "../../runtime/start-runtime.ts";
import { claimDataDir } from "../../runtime/state/claim-data-dir.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { parseGivenFile } from "../read-given-file.ts";
import { defaultRuntimeEndpoint } from "../runtime-endpoint-option.ts";
import { runtimeOfUp } from "../runtime-of-up.ts";
import { serveUntilStopped } from "../until-stopped.ts";
import { UsageError } from "../usage-error.ts";

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
  kindling runtime import app.tar                        what docker save or skopeo wrote
  kindling runtime import app.tar --tag app:test
  kindling runtime --data-dir DIR import app.tar         where a kindling runtime keeps its data`;

const buildExamples = `
Examples:
  kindling runtime build ./site --tag site:1
  kindling runtime build ./root --tag app:test --cmd '["/bin/server", "--port", "8080"]' --env MODE=test`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--data-dir <dir>",
      "where images and containers are kept",
      join(homedir(), ".kindling", "runtime"),
    )
    .option("--listen <unix:///path>", "where to serve CRI", defaultRuntimeEndpoint)
    .addOption(
      new Option("--driver <driver>", "how containers run: with runc or crun, or with util-linux alone")
        .choices(["auto", "oci", "host"])
        .default("auto"),
    )
    .addOption(
      new Option(
        "--network <network>",
        "how pods get addresses; chosen by what the machine has unless told",
      ).choices(["cni", "bridge", "host"]),
    )
    .option(
      "--config <file>",
      "registries (mirrors, plainHttp, certificateAuthorities), RuntimeClass handlers and pinned images, in YAML",
    )
    .addHelpText("after", examples)
    .action((flags: RuntimeFlags) => serve(flags));

  command
    .command("import <file>")
    .description("take in the images of a docker-archive or an OCI layout, into kindling up where it runs")
    .option("--tag <reference>", "the name to give the image")
    .addHelpText("after", importExamples)
    .action((file: string, flags: { tag?: string }) =>
      makeAndPrint(command, { kind: "import", path: resolve(file), tag: flags.tag }),
    );
  command
    .command("build <dir>")
    .description("make an image of one layer from a directory, in kindling up where it runs")
    .requiredOption("--tag <reference>", "the image's name")
    .option("--entrypoint <json>", 'what it runs: /bin/server or ["/bin/server", "-v"]', parseWords)
    .option("--cmd <json>", "what it runs, or the arguments of its entry point", parseWords)
    .option("--env <NAME=value...>", "its environment")
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
  if (process.getuid?.() !== 0) throw new UsageError("containers need root: run it with sudo");
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

/** The daemon does it where one runs, `kindling up` too; else it is done here, with the directory claimed for as long. */
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

/** A JSON array of strings, or one word. */
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
