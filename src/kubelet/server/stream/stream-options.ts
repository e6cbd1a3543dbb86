import { HttpError } from "../http-error.ts";

/** The streams that an exec or attach is about. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** What the API calls stdin, stdout and stderr is input, output and error to kubelets. */
export function parseStreamOptions(query: URLSearchParams): StreamOptions {
  const isOn = (name: string) => query.get(name) === "1";
  const tty = isOn("tty");
  const options = { stdin: isOn("input"), stdout: isOn("output"), stderr: isOn("error") && !tty, tty };
  if (!options.stdin && !options.stdout && !options.stderr)
    throw new HttpError(400, "you must specify at least 1 of stdin, stdout, stderr");
  return options;
}
