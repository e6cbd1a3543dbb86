import type { Container, Pod } from "../../api/objects.ts";
import {
  type ContainerConfig,
  ImageSpec,
  type LinuxContainerConfig,
  type Mount,
  Signal,
} from "../../cri/generated/cri.ts";
import { configError } from "./config-error.ts";
import { type Attempt, containerAnnotations, containerLabels } from "./cri-labels.ts";
import { createExpand } from "./expand.ts";
import { containerLogPath } from "./pod-paths.ts";
import type { Environment } from "./resolve-environment.ts";

interface ConfigRequest extends Attempt {
  readonly pod: Pod;
  readonly container: Container;
  /** The runtime's own reference of the image. */
  readonly imageRef: string;
  readonly environment: Environment;
  readonly mounts: Mount[];
  readonly linux: LinuxContainerConfig;
}

export function buildContainerConfig(request: ConfigRequest): ContainerConfig {
  const { pod, container, attempt, imageRef, environment, mounts, linux } = request;
  const expand = createExpand();
  const expandAll = (words: readonly string[] = []) =>
    words.map((word) => expand(word, (name) => environment.get(name)?.toString()));
  return {
    metadata: { name: container.name, attempt },
    image: ImageSpec.fromPartial({ image: imageRef, userSpecifiedImage: container.image ?? "" }),
    command: expandAll(container.command),
    args: expandAll(container.args),
    workingDir: container.workingDir ?? "",
    envs: [...environment].map(([key, value]) => ({ key, value })),
    mounts,
    devices: [],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, request),
    logPath: containerLogPath(container.name, attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux,
    CDIDevices: [],
    stopSignal: stopSignal(container.lifecycle?.stopSignal),
  };
}

const signals = new Map<string, Signal>(Object.entries(Signal));

/** `SIGRTMIN+3` is SIGNAL_SIGRTMINPLUS3. */
function stopSignal(name: string | undefined): Signal {
  if (name === undefined) return Signal.SIGNAL_RUNTIME_DEFAULT;
  const signal = signals.get(`SIGNAL_${name.replace("+", "PLUS").replace("-", "MINUS")}`);
  if (signal === undefined) throw configError(`lifecycle.stopSignal: ${name} is not a signal`);
  return signal;
}
