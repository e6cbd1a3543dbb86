import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { parse, stringify } from "yaml";
import { toolPath } from "../programs/tools.ts";

/** A real Prometheus with the configuration and rules that the examples ship. */
export interface PrometheusServer {
  /** The samples of an instant query, each as its labels and its value. */
  query(expression: string): Promise<{ labels: Record<string, string>; value: number }[]>;
  /** The labels of the exemplars of the last minutes. */
  exemplars(expression: string): Promise<Record<string, string>[]>;
  stop(): Promise<void>;
}

/** Scrapes `target`, such as `127.0.0.1:9085`. */
export async function startPrometheus({ target }: { readonly target: string }): Promise<PrometheusServer> {
  const folder = await mkdtemp(join(tmpdir(), "kindling-prometheus-"));
  await writeFile(join(folder, "prometheus.yml"), await configurationFor(target));
  const child = spawn(
    toolPath("prometheus"),
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      "--web.listen-address=127.0.0.1:0",
      "--enable-feature=exemplar-storage",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const exited = once(child, "exit");
  const url = await readUrl(child);

  async function get(path: string, parameters: Record<string, string>): Promise<unknown> {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${text}`);
    return JSON.parse(text).data;
  }

  return {
    async query(expression) {
      const { result } = (await get("query", { query: expression })) as {
        result: { metric: Record<string, string>; value: [number, string] }[];
      };
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async exemplars(expression) {
      const now = Date.now() / 1_000;
      const range = { start: String(now - 600), end: String(now + 600) };
      const found = (await get("query_exemplars", { query: expression, ...range })) as {
        exemplars: { labels: Record<string, string> }[];
      }[];
      return found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels));
    },
    async stop() {
      child.kill();
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As shipped, but for the target, and faster. */
async function configurationFor(target: string): Promise<string> {
  const shipped = resolve("examples/prometheus");
  const configuration = parse(await readFile(join(shipped, "prometheus.yml"), "utf8"));
  const [job] = configuration.scrape_configs;
  return stringify({
    ...configuration,
    global: { scrape_interval: "500ms", evaluation_interval: "500ms" },
    rule_files: configuration.rule_files.map((file: string) => join(shipped, file)),
    scrape_configs: [{ ...job, static_configs: [{ targets: [target] }] }],
  });
}

/** Reads the chosen port from the log. The log is read to its end, because a write to a closed pipe would fail. */
function readUrl(child: ChildProcessByStdio<null, null, Readable>): Promise<string> {
  return new Promise((resolved, reject) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-100_000);
      const [, address] = /msg="Listening on" .*?address=(\S+)/.exec(text) ?? [];
      if (address) resolved(`http://${address}`);
    });
    child.once("exit", () => reject(new Error(`prometheus has ended:\n${text}`)));
  });
}
