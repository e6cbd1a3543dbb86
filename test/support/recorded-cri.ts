import type { CriClient } from "../../src/cri/cri-client.ts";
import type { PodSandboxConfig } from "../../src/cri/generated/cri.ts";

/** Proxy between a kubelet and its runtime that records changes and can omit the kubelet's annotations. */
export interface RecordedCri {
  readonly client: CriClient;
  /** Of each call that changes something, its name and the sandbox or container that it is about. */
  readonly changes: string[];
  /** Whether sandboxes are as versions of the kubelet made them that did not mark theirs. */
  earlierVersion: boolean;
}

const changing = [
  "runPodSandbox",
  "stopPodSandbox",
  "removePodSandbox",
  "createContainer",
  "startContainer",
  "stopContainer",
  "removeContainer",
  "updateContainerResources",
] as const;

export function recordCri({ runtime, ...rest }: CriClient): RecordedCri {
  const changes: string[] = [];
  const recorded = { ...runtime };
  for (const name of changing) {
    const call = runtime[name] as (request: object, options?: object) => Promise<never>;
    Object.assign(recorded, {
      [name]: (request: { podSandboxId?: string; containerId?: string }, options?: object) => {
        changes.push(`${name} ${request.podSandboxId ?? request.containerId ?? ""}`);
        return call(fixture.earlierVersion ? withoutMarks(request) : request, options);
      },
    });
  }
  const fixture: RecordedCri = { client: { ...rest, runtime: recorded }, changes, earlierVersion: false };
  return fixture;
}

interface WithConfigs {
  readonly config?: PodSandboxConfig;
  readonly sandboxConfig?: PodSandboxConfig;
}

function withoutMarks(request: object): object {
  const { config, sandboxConfig }: WithConfigs = request;
  return {
    ...request,
    ...(config && { config: withoutMark(config) }),
    ...(sandboxConfig && { sandboxConfig: withoutMark(sandboxConfig) }),
  };
}

function withoutMark(config: PodSandboxConfig): PodSandboxConfig {
  const annotations = Object.entries(config.annotations).filter(([key]) => !key.startsWith("kindling.dev/"));
  return { ...config, annotations: Object.fromEntries(annotations) };
}
