import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  cgroupDirs,
  containerCgroup,
  controllerDir,
  detectCgroupLayout,
} from "../../../lib/cgroup/cgroup-layout.ts";
import type { AttachStreams, ContainerSpec, Driver, ExitedState, Namespaces } from "../driver.ts";
import { commandLine, findProcesses } from "../linux/process-info.ts";
import { plainContainer } from "../oci/probe-oci-runtime.ts";

export interface DriverContract {
  /** Opens the driver over a state directory, as a daemon does at start. */
  readonly open: (dir: string) => Promise<Driver>;
  readonly busybox: string;
  /** Whether the driver has a cgroup hierarchy without limiting controllers. */
  readonly withoutControllers?: true;
}

/** Environment of the contract suite: a root file system from busybox, a driver, and cleanup. */
export interface ContractBench {
  readonly driver: Driver;
  readonly stateDir: string;
  readonly ownNamespaces: Namespaces;
  spec(part: Partial<ContainerSpec>): ContainerSpec;
  run(part: Partial<ContainerSpec>): Promise<ExitedState & { log: string[] }>;
  runSpec(spec: ContainerSpec): Promise<ExitedState>;
  started(part: Partial<ContainerSpec>): Promise<ContainerSpec>;
  wait(id: string): Promise<ExitedState>;
  exited(id: string): Promise<boolean>;
  attach(id: string): Promise<{ streams: AttachStreams; out: () => string }>;
  exec(
    id: string,
    args: string[],
    options?: { input?: string },
  ): Promise<{ out: string; err: string; exitCode: number }>;
  /** Stops the daemon and, after a while, starts a new one. */
  reopen(options: { pauseMs: number }): Promise<void>;
  directory(name: string): string;
  copyRootfs(): string;
  tmpfs(name: string, propagation?: "shared"): string;
  mount(args: string[], target: string): void;
  unmountLater(target: string): void;
  memoryLimit(id: string): number;
  /** Processes, mounts, cgroups and files that are left of a container. */
  traces(id: string): string[];
  processesWith(pattern: RegExp): number[];
  monitorsOf(id: string): number[];
  clear(): Promise<void>;
  dispose(): Promise<void>;
}

const cgroupParent = `/kindling-test-${process.pid}`;

export async function createContractBench(contract: DriverContract): Promise<ContractBench> {
  const home = mkdtempSync(join(tmpdir(), "kindling-driver-"));
  const stateDir = join(home, "state");
  const rootfs = join(home, "rootfs");
  makeRootfs(rootfs, contract.busybox);
  const layout = detectCgroupLayout();
  const mounts: string[] = [];
  let count = 0;
  let driver = await contract.open(stateDir);

  const bench: ContractBench = {
    get driver() {
      return driver;
    },
    stateDir,
    ownNamespaces: { network: "new", ipc: "new", uts: "new", pid: "new" },
    spec: (part) => {
      const id = part.id ?? `c${++count}-${process.pid}`;
      return { ...plainSpec, id, rootfs, logPath: join(home, `${id.replaceAll("/", "_")}.log`), ...part };
    },
    async run(part) {
      const spec = bench.spec(part);
      const exited = await bench.runSpec(spec);
      return { ...exited, log: joinParts(readLog(spec.logPath)) };
    },
    async runSpec(spec) {
      await driver.create(spec);
      await driver.start(spec.id);
      return bench.wait(spec.id);
    },
    async started(part) {
      const spec = bench.spec(part);
      await driver.create(spec);
      await driver.start(spec.id);
      return spec;
    },
    wait: (id) => driver.wait(id, AbortSignal.timeout(30_000)),
    exited: async (id) => (await driver.state(id)).kind === "exited",
    async attach(id) {
      const streams = await driver.attach(id);
      let out = "";
      streams.stdout.on("data", (chunk) => {
        out += String(chunk);
      });
      streams.stderr?.resume();
      return { streams, out: () => out };
    },
    async exec(id, args, options = {}) {
      const stdin = options.input !== undefined;
      const child = await driver.exec(id, { args, terminal: false, stdin });
      let [out, err] = ["", ""];
      child.stdout.on("data", (chunk) => {
        out += String(chunk);
      });
      child.stderr?.on("data", (chunk) => {
        err += String(chunk);
      });
      if (options.input !== undefined) child.stdin?.end(options.input);
      const exitCode = await child.exitCode;
      return { out, err, exitCode };
    },
    async reopen({ pauseMs }) {
      await driver.close();
      await sleep(pauseMs);
      driver = await contract.open(stateDir);
    },
    directory(name) {
      const path = mkdtempSync(join(home, `${name}-`));
      return path;
    },
    copyRootfs() {
      const path = mkdtempSync(join(home, "rootfs-"));
      cpSync(rootfs, path, { recursive: true, verbatimSymlinks: true });
      return path;
    },
    tmpfs(name, propagation) {
      const path = bench.directory(name);
      bench.mount(["-t", "tmpfs", "tmpfs", path], path);
      if (propagation) execFileSync("mount", [`--make-${propagation}`, path]);
      return path;
    },
    mount(args, target) {
      execFileSync("mount", args);
      mounts.push(target);
    },
    unmountLater: (target) => void mounts.push(target),
    memoryLimit(id) {
      const dir = controllerDir(layout, "memory", containerCgroup(cgroupParent, id));
      const file = layout.kind === "v2" ? "memory.max" : "memory.limit_in_bytes";
      return Number(readFileSync(`${dir}/${file}`, "utf8"));
    },
    traces: (id) => [
      ...cgroupDirs(layout, containerCgroup(cgroupParent, id)).filter((dir) => existsSync(dir)),
      ...readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .filter((line) => line.includes(`/${id}/`)),
      ...readdirSync(stateDir, { recursive: true })
        .map(String)
        .filter((name) => name.split("/").includes(id)),
      ...bench.monitorsOf(id).map((pid) => `process ${pid}: ${commandLine(pid).join(" ").slice(0, 200)}`),
    ],
    processesWith: (pattern) =>
      readdirSync("/proc")
        .map(Number)
        .filter((pid) => pid > 0 && pattern.test(`${commandLine(pid).join(" ")} `)),
    monitorsOf: (id) => findProcesses(join(stateDir, "containers", id)),
    async clear() {
      for (const id of await driver.list()) await driver.remove(id);
      for (const target of mounts.splice(0).reverse()) {
        if (readFileSync("/proc/self/mountinfo", "utf8").includes(` ${target} `)) {
          execFileSync("umount", ["-l", target]);
        }
      }
    },
    async dispose() {
      await bench.clear();
      await driver.close();
      for (const dir of cgroupDirs(layout, cgroupParent)) if (existsSync(dir)) rmdirSync(dir);
      rmSync(home, { recursive: true, force: true });
    },
  };
  return bench;
}

const plainSpec: Omit<ContainerSpec, "id" | "rootfs" | "logPath"> = {
  ...plainContainer,
  args: ["true"],
  env: ["PATH=/bin"],
  hostname: "bench",
  cgroupParent,
};

function makeRootfs(path: string, busybox: string): void {
  for (const dir of ["bin", "tmp", "etc", "proc", "dev", "sys"])
    mkdirSync(join(path, dir), { recursive: true });
  cpSync(busybox, join(path, "bin/busybox"), { dereference: true });
  const names = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n").filter(Boolean);
  for (const name of names) if (name !== "busybox") symlinkSync("busybox", join(path, "bin", name));
}

export interface LogLine {
  readonly time: string;
  readonly stream: string;
  readonly tag: string;
  readonly text: string;
}

export function readLog(path: string): LogLine[] {
  const text = readFileSync(path, "latin1");
  if (text !== "" && !text.endsWith("\n")) throw new Error("the log ends within a line");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [, time = "", stream = "", tag = "", content = ""] =
        /^(\S+) (stdout|stderr) (P|F) (.*)$/s.exec(line) ?? [];
      if (!time) throw new Error(`not a CRI log line: ${line.slice(0, 200)}`);
      return { time, stream, tag, text: content };
    });
}

/** Script that continues once the terminal has this size: resize and input travel separately. */
export const untilResized = 'until [ "$(stty size)" = "37 101" ]; do sleep 0.1; done; echo resized';

/** Polls a condition that other processes fulfil. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for: ${holds}`);
    await sleep(20);
  }
}

/** Joins partial log lines; the parts of the streams may alternate. */
export function joinParts(lines: readonly LogLine[]): string[] {
  const whole: string[] = [];
  const open = new Map<string, string>();
  for (const { stream, tag, text } of lines) {
    const sofar = (open.get(stream) ?? "") + text;
    open.delete(stream);
    if (tag === "F") whole.push(sofar);
    else open.set(stream, sofar);
  }
  return [...whole, ...open.values()];
}
