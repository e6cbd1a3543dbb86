import { messageOf } from "../../lib/message-of.ts";
import { parseBytes, parseCount, parseDurationMs } from "./amounts.ts";
import type {
  ContainerScript,
  ExecStep,
  ExitScript,
  PullFailure,
  PullScript,
  SandboxScript,
} from "./scripts.ts";

/**
 * What a pod's annotations say, so that one can script from YAML. All begin with `simulated.kindling.dev/`; those
 * with a container may end in `.NAME` and are for that one only, before those for all.
 *
 * | annotation                  | value                                                                              |
 * |-----------------------------|------------------------------------------------------------------------------------|
 * | `sandbox-delay`             | `2s`: how long the sandbox takes; also `500ms`, `1m`, `1h`, `forever`               |
 * | `sandbox-error`             | text: its network cannot be set up, and why                                        |
 * | `sandbox-error-times`       | `3`: so many tries, then it can                                                    |
 * | `start-delay`               | `2s`: how long the container takes to start                                        |
 * | `start-error`               | text: it cannot be started, and why                                                |
 * | `exit`                      | `code=1 after=2s times=3`: it exits, so often, then stays up                        |
 * | `exec-exit`                 | `code=1 until=3s`: what commands in it answer, so long after its start, then 0       |
 * | `stop-delay`                | `5s`: from the stop signal to its end                                              |
 * | `log`                       | text: what it writes when it starts                                                |
 * | `pull`                      | `size=1Gi rate=50Mi layers=4 delay=1s stall-at=512Mi stall=30s unpack=2s failure=not-found`, of its images |
 */
export interface AnnotatedScripts {
  readonly sandbox: SandboxScript;
  readonly pull: PullScript;
  /** By container; `""` for all of them. */
  readonly containers: Readonly<Record<string, ContainerScript>>;
}

const annotationPrefix = "simulated.kindling.dev/";

type Parse<Script> = (text: string) => Script;

const sandboxParsers: Readonly<Record<string, Parse<SandboxScript>>> = {
  "sandbox-delay": (text) => ({ delayMs: need(parseDurationMs(text), "2s") }),
  "sandbox-error": (text) => ({ networkError: text }),
  "sandbox-error-times": (text) => ({ errorTimes: need(parseCount(text), "3") }),
};

const containerParsers: Readonly<Record<string, Parse<ContainerScript>>> = {
  "start-delay": (text) => ({ startDelayMs: need(parseDurationMs(text), "2s") }),
  "start-error": (text) => ({ startError: text }),
  "stop-delay": (text) => ({ stopDelayMs: need(parseDurationMs(text), "5s") }),
  log: (text) => ({ log: text }),
  exit: (text) => ({ exit: parseExit(text) }),
  "exec-exit": (text) => ({ exec: [parseExec(text)] }),
};

const known = [...Object.keys(sandboxParsers), ...Object.keys(containerParsers), "pull"];

/** Undefined where there are none, as in most pods. Throws with the annotation and how to write it. */
export function parseAnnotations(
  annotations: Readonly<Record<string, string>>,
): AnnotatedScripts | undefined {
  const own = Object.entries(annotations).filter(([name]) => name.startsWith(annotationPrefix));
  if (own.length === 0) return undefined;
  let sandbox: SandboxScript = {};
  let pull: PullScript = {};
  const containers = new Map<string, ContainerScript>();
  for (const [name, text] of own) {
    const [key = "", container = ""] = splitName(name.slice(annotationPrefix.length));
    try {
      if (Object.hasOwn(sandboxParsers, key) && container === "")
        sandbox = { ...sandbox, ...sandboxParsers[key]?.(text) };
      else if (Object.hasOwn(containerParsers, key))
        containers.set(container, { ...containers.get(container), ...containerParsers[key]?.(text) });
      else if (key === "pull" && container === "") pull = parsePull(text);
      else throw new Error(`there is no such annotation; there are ${known.join(", ")}`);
    } catch (error) {
      const why = messageOf(error);
      throw new Error(`annotation ${name}: ${JSON.stringify(text)}: ${why}`);
    }
  }
  return { sandbox, pull, containers: Object.fromEntries(containers) };
}

/** What they say of one container. */
export function annotatedContainer(
  scripts: AnnotatedScripts | undefined,
  container: string,
): ContainerScript | undefined {
  return scripts && { ...scripts.containers[""], ...scripts.containers[container] };
}

function splitName(name: string): [key: string, container: string] {
  const dot = name.indexOf(".");
  return dot === -1 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
}

function parseExit(text: string): ExitScript {
  const example = "code=1 after=2s times=3";
  const { code, after, times } = parseFields(text, { names: ["code", "after", "times"], example });
  return {
    code: need(parseCount(code ?? ""), example),
    ...(after !== undefined && { afterMs: need(parseDurationMs(after), example) }),
    ...(times !== undefined && { times: need(parseCount(times), example) }),
  };
}

function parseExec(text: string): ExecStep {
  const example = "code=1 until=3s";
  const { code, until } = parseFields(text, { names: ["code", "until"], example });
  return {
    exitCode: need(parseCount(code ?? ""), example),
    ...(until !== undefined && { untilMs: need(parseDurationMs(until), example) }),
  };
}

const failureKinds: Readonly<Record<string, PullFailure["kind"]>> = {
  unauthorized: "unauthorized",
  "not-found": "notFound",
  unavailable: "unavailable",
};

function parsePull(text: string): PullScript {
  const example = "size=1Gi rate=50Mi layers=4 delay=1s stall-at=512Mi stall=30s unpack=2s failure=not-found";
  const names = ["size", "rate", "layers", "delay", "stall-at", "stall", "unpack", "failure"] as const;
  const fields = parseFields(text, { names, example });
  const read = <T>(name: (typeof names)[number], parse: (value: string) => T | undefined): T | undefined => {
    const value = fields[name];
    return value === undefined ? undefined : need(parse(value), example);
  };
  const kind = read("failure", (value) =>
    Object.hasOwn(failureKinds, value) ? failureKinds[value] : undefined,
  );
  return {
    sizeBytes: read("size", parseBytes),
    bytesPerSecond: read("rate", parseBytes),
    layers: read("layers", parseCount),
    delayMs: read("delay", parseDurationMs),
    stallAtByte: read("stall-at", parseBytes),
    stallMs: read("stall", parseDurationMs),
    unpackMs: read("unpack", parseDurationMs),
    failure: kind && { kind },
  };
}

function parseFields<Name extends string>(
  text: string,
  { names, example }: { names: readonly Name[]; example: string },
): Partial<Record<Name, string>> {
  const fields: Partial<Record<Name, string>> = {};
  for (const field of text.split(/\s+/).filter(Boolean)) {
    const equals = field.indexOf("=");
    const name = names.find((one) => one === field.slice(0, equals));
    if (equals === -1 || name === undefined) throw new Error(`write it like "${example}"`);
    fields[name] = field.slice(equals + 1);
  }
  return fields;
}

function need<T>(value: T | undefined, example: string): T {
  if (value === undefined) throw new Error(`write it like "${example}"`);
  return value;
}
