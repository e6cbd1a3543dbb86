import { Option } from "commander";
import type { DashboardOptions } from "../cluster/monitor.ts";
import { parseListenAddress } from "./listen-option.ts";

export type DashboardChoice = DashboardOptions | "off";

const standard = "127.0.0.1:6480";

/** `--dashboard HOST:PORT`, or `off`. */
export const dashboardOption = () =>
  new Option(
    "--dashboard <host:port>",
    "where to serve the page that shows how pods start, or off; when the default is taken, any free port will do",
  )
    .argParser(parseDashboard)
    .default({ listen: parseListenAddress(standard), mayMove: true } satisfies DashboardChoice, standard);

function parseDashboard(text: string): DashboardChoice {
  return text === "off" ? "off" : { listen: parseListenAddress(text) };
}
