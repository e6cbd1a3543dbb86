// Clauses: 3085-15
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ContainerConfig, ContainerEventType } from "../../cri/generated/cri.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type ContainerSpec, type Driver, DriverError, type Namespaces } from "../drivers/driver.ts";
import type { Handler } from "../drivers/open-handlers.ts";
import { RuntimeError } from "../errors/runtime-error.ts";
import { publishEvent, type RuntimeState } from "../state/runtime-state.ts";
import type { ReadySandbox, SandboxContainer, SandboxRecord } from "../state/sandbox-record.ts";
import { pauseProgram } from "./pause-program.ts";
import { isHostNamespace, sandboxHostname, sharesProcesses } from "./sandbox-files.ts";

type Sandbox = Pick<SandboxRecord, "id" | "config" | "runtimeHandler">;

/**
 * Decides which container a sandbox itself gets. The default runtime needs none, which saves a process and some tens of
 * milliseconds; a configured handler always creates one, so that the sandbox is ready only when the handler is.
 */
export function decideSandboxContainer(
  { config, runtimeHandler }: Pick<Sandbox, "config" | "runtimeHandler">,
  handlers: readonly Pick<Handler, "name">[],
): SandboxContainer {
  if (handlers.some(({ name }) => name === runtimeHandler)) return "handler";
  return sharesProcesses(config) ? "pause" : "none";
}

interface SandboxContainerOptions {
  readonly sandbox: Sandbox;
  readonly container: Exclude<SandboxContainer, "none">;
  /** The sandbox's directory, which receives the root file system. */
  readonly directory: string;
  readonly namespaces: Omit<Namespaces, "pid">;
  readonly signal: AbortSignal;
}

/** Creates and starts the container of a sandbox. After a failure, releaseSandbox removes what was created. */
export async function runSandboxContainer(driver: Driver, options: SandboxContainerOptions): Promise<void> {
  const { sandbox, container, signal } = options;
  const rootfs = join(options.directory, "pause");
  await writePauseRootfs(rootfs);
  try {
    await driver.create(sandboxContainerSpec({ ...options, rootfs }), { signal });
    await driver.start(sandbox.id, { signal });
  } catch (error) {
    throw container === "handler" ? handlerFailed(sandbox.runtimeHandler, error) : error;
  }
}

/** Error that contains the handler and not the sandbox, so that the events of all attempts are counted as one. */
function handlerFailed(handler: string, error: unknown): RuntimeError {
  const reason = messageOf(error instanceof DriverError ? (error.cause ?? error) : error);
  const message = `runtime handler "${handler}" failed to create the sandbox: ${reason}`;
  return new RuntimeError("internal", message, { cause: error });
}

/** Creates a root file system with the pause program and mount points for drivers. */
async function writePauseRootfs(rootfs: string): Promise<void> {
  await Promise.all(
    ["proc", "dev", "sys"].map((name) => mkdir(join(rootfs, name), { recursive: true, mode: 0o755 })),
  );
  await writeFile(join(rootfs, "pause"), pauseProgram(process.arch), { mode: 0o755 });
}

/** Specification of a container whose only process sleeps, without privileges. Exported for its test. */
export function sandboxContainerSpec({
  sandbox: { id, config, runtimeHandler },
  container,
  rootfs,
  namespaces,
}: Pick<SandboxContainerOptions, "sandbox" | "container" | "namespaces"> & {
  readonly rootfs: string;
}): ContainerSpec {
  return {
    id,
    handler: runtimeHandler,
    rootfs,
    readonlyRootfs: true,
    args: ["/pause"],
    env: [],
    workingDir: "/",
    // User nobody (65534), without rights over other processes.
    user: { uid: 65_534, gid: 65_534, additionalGids: [] },
    hostname: sandboxHostname(config),
    mounts: [],
    devices: [],
    namespaces: { ...namespaces, pid: isHostNamespace(config, "pid") ? "host" : "new" },
    cgroupParent: config.linux?.cgroupParent ?? "",
    resources: { cpuShares: 2 },
    security: {
      privileged: false,
      capabilities: { add: [], drop: ["ALL"] },
      noNewPrivileges: true,
      maskedPaths: [],
      readonlyPaths: [],
      seccomp: { kind: "unconfined" },
      apparmorProfile: undefined,
    },
    sysctls: {},
    // Last to be killed when memory runs out, because the pod ends with it. Drivers tolerate machines that reject the
    // value.
    oomScoreAdj: -998,
    terminal: false,
    stdin: false,
    stdinOnce: false,
    logPath: "",
    annotations: container === "handler" ? sandboxAnnotations({ id, config }) : {},
  };
}

/** Marks a sandbox NotReady when its own container exits; kubelets then recreate it with everything in it. */
export function watchSandboxContainer(state: RuntimeState, sandboxId: string): void {
  const sandbox = state.sandboxes.get(sandboxId);
  if (sandbox?.state.kind !== "ready" || sandbox.state.container === "none") return;
  const watch = state.driver.wait(sandboxId, state.stopping).then(
    async () => {
      if (state.sandboxes.get(sandboxId)?.state.kind !== "ready") return;
      state.logger.warn("the container of a sandbox exited; the sandbox is not ready", {
        sandbox: sandboxId,
      });
      await state.sandboxes.change(sandboxId, (record) => ({ ...record, state: { kind: "notReady" } }));
      publishEvent(state, { sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
    },
    // The container was removed or the daemon stops; both are handled elsewhere.
    () => {},
  );
  state.exitWatches.add(watch);
}

/*
 * Annotations in config.json with which OCI runtimes that run a whole pod in one place, such as a virtual machine,
 * distinguish the sandbox from the containers that join it. Kata and gVisor read the names of containerd and CRI-O.
 */

type Annotations = Readonly<Record<string, string>>;
type AnnotatedSandbox = Pick<Sandbox, "id" | "config">;

/** Annotations of the container with which a handler creates the sandbox. */
export function sandboxAnnotations(sandbox: AnnotatedSandbox): Annotations {
  return { ...membership(sandbox, "sandbox"), ...podAnnotations(sandbox) };
}

/** Annotations of a container in the sandbox; none if the handler did not create the sandbox. */
export function containerAnnotations(
  sandbox: AnnotatedSandbox & { readonly state: Pick<ReadySandbox, "container"> },
  { metadata, image }: Pick<ContainerConfig, "metadata" | "image">,
): Annotations {
  if (sandbox.state.container !== "handler") return {};
  const name = metadata?.name ?? "";
  const imageName = image?.userSpecifiedImage || image?.image || "";
  return {
    ...membership(sandbox, "container"),
    ...podAnnotations(sandbox),
    "io.kubernetes.cri.container-name": name,
    "io.kubernetes.cri.image-name": imageName,
    "io.kubernetes.cri-o.ContainerName": name,
    "io.kubernetes.cri-o.ImageName": imageName,
  };
}

function membership({ id }: AnnotatedSandbox, type: "sandbox" | "container"): Annotations {
  return {
    "io.kubernetes.cri.container-type": type,
    "io.kubernetes.cri.sandbox-id": id,
    "io.kubernetes.cri-o.ContainerType": type,
    "io.kubernetes.cri-o.SandboxID": id,
  };
}

function podAnnotations({ config: { metadata, logDirectory } }: AnnotatedSandbox): Annotations {
  return {
    "io.kubernetes.cri.sandbox-namespace": metadata?.namespace ?? "",
    "io.kubernetes.cri.sandbox-name": metadata?.name ?? "",
    "io.kubernetes.cri.sandbox-uid": metadata?.uid ?? "",
    "io.kubernetes.cri.sandbox-log-directory": logDirectory,
    "io.kubernetes.cri-o.Namespace": metadata?.namespace ?? "",
    "io.kubernetes.cri-o.KubeName": metadata?.name ?? "",
  };
}
