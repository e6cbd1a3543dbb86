import { parseGoDuration } from "../../lib/go-duration.ts";
import { messageOf } from "../../lib/message-of.ts";
import type {
  ContainerScript,
  ExecStep,
  ExitScript,
  PullFailure,
  PullScript,
  SandboxScript,
} from "./scripts.ts";

/**
 * Scripts from a pod's annotations. All names begin with `simulated.kindling.dev/`. Those for containers may end with
 * `.NAME` to apply to one container, which takes precedence.
 *
 * | annotation            | value                                                                                  |
 * |-----------------------|----------------------------------------------------------------------------------------|
 * | `sandbox-delay`       | `2s`: duration of RunPodSandbox; also `500ms`, `1m`, `1h`, `forever`                   |
 * | `sandbox-error`       | text: network setup error                                                              |
 * | `sandbox-error-times` | `3`: number of attempts that fail                                                      |
 * | `start-delay`         | `2s`: duration of StartContainer                                                       |
 * | `start-error`         | text: error of StartContainer                                                          |
 * | `exit`                | `code=1 after=2s times=3`: exits, for a number of attempts                             |
 * | `exec-exit`           | `code=1 until=3s`: exit code of commands for a time after the start, then 0            |
 * | `stop-delay`          | `5s`: time from the stop signal to the exit                                            |
 * | `log`                 | text: written to the log on start                                                      |
 * | `pull`                | `size=1Gi rate=50Mi layers=4 delay=1s stall-at=512Mi stall=30s unpack=2s failure=not-found`, for its images |
 */
export interface AnnotatedScripts {
  readonly sandbox: SandboxScript;
  readonly pull: PullScript;
  /** Scripts by container name; `""` applies to all. */
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

/** Returns undefined without annotations. Throws an error with the annotation and an example. */
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
      else throw new Error(`unknown annotation; the annotations are ${known.join(", ")}`);
    } catch (error) {
      const why = messageOf(error);
      throw new Error(`annotation ${name}: ${JSON.stringify(text)}: ${why}`);
    }
  }
  return { sandbox, pull, containers: Object.fromEntries(containers) };
}

/** Script of one container. */
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

const sizes: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Parses `500ms`, `2s`, `1m30s`, `1h` or `forever`; undefined for anything else. */
function parseDurationMs(text: string): number | undefined {
  const ms = text === "forever" ? Number.POSITIVE_INFINITY : parseGoDuration(text);
  return ms !== undefined && ms >= 0 ? ms : undefined;
}

/** Parses `1024`, `64Ki`, `10Mi`, `1.5Gi` or `5M`; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(sizes, unit) ? sizes[unit] : undefined;
  return number === undefined || factor === undefined ? undefined : Math.round(Number(number) * factor);
}

function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
