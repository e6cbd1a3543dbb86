import { dnsSubdomainProblems, dnsSubdomainWithUnderscoreProblems } from "../names.ts";
import type { PodSpec } from "../objects.ts";
import { ipProblems } from "./ip.ts";
import type { Report } from "./report.ts";

/** What resolvers take. */
const maxNameservers = 3;
const maxSearches = 32;
const maxSearchChars = 2048;

export function validateDns({ dnsPolicy, dnsConfig, hostAliases }: PodSpec, at: Report): void {
  at.requiredOneOf("dnsPolicy", dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
  if (dnsPolicy === "None" && !dnsConfig) {
    at.required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
  } else if (dnsPolicy === "None" && !dnsConfig?.nameservers?.length) {
    const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
    at.required("dnsConfig.nameservers", detail);
  } else if (dnsConfig) {
    validateDnsConfig(dnsConfig, at.child("dnsConfig"));
  }
  at.each("hostAliases", hostAliases, ({ ip, hostnames }, place) => {
    place.problems("ip", ip, ipProblems(ip));
    hostnames?.forEach((name, i) => {
      place.problems(`hostnames[${i}]`, name, dnsSubdomainProblems(name));
    });
  });
}

function validateDnsConfig(config: NonNullable<PodSpec["dnsConfig"]>, at: Report): void {
  const { nameservers = [], searches = [], options = [] } = config;
  if (nameservers.length > maxNameservers) {
    at.invalid("nameservers", nameservers, `must not have more than ${maxNameservers} nameservers`);
  }
  nameservers.forEach((address, i) => {
    at.problems(`nameservers[${i}]`, address, ipProblems(address));
  });
  if (searches.length > maxSearches) {
    at.invalid("searches", searches, `must not have more than ${maxSearches} search paths`);
  }
  if (searches.join(" ").length > maxSearchChars) {
    const detail = `must not have more than ${maxSearchChars} characters (including spaces) in the search list`;
    at.invalid("searches", searches, detail);
  }
  searches.forEach((search, i) => {
    if (search === ".") return;
    const domain = search.replace(/\.$/, "");
    at.problems(`searches[${i}]`, domain, dnsSubdomainWithUnderscoreProblems(domain));
  });
  options.forEach((option, i) => {
    if (!option.name) at.required(`options[${i}]`, "must not be empty");
  });
}
