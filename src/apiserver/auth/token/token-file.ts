import { authenticatedUser, type UserInfo } from "../user-info.ts";
import { tokenDigest } from "./token-digest.ts";

/** Users by the digest of their token. */
export type StaticTokens = ReadonlyMap<string, UserInfo>;

/** Reads lines of `token,user,uid[,"group1,group2"]`. Messages name lines, never what is in them. */
export function parseTokenFile(text: string, path: string): StaticTokens {
  const users = new Map<string, UserInfo>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "") continue;
    const columns = splitColumns(line);
    if (!columns) throw new Error(`token file '${path}', line ${index + 1}: unbalanced quotes`);
    const [token = "", username = "", uid = "", groups] = columns;
    if (columns.length < 3) {
      throw new Error(
        `token file '${path}', line ${index + 1}: must have at least 3 columns (token, user name, user uid), found ${columns.length}`,
      );
    }
    if (token === "") continue;
    users.set(
      tokenDigest(token),
      authenticatedUser({ username, uid, groups: groups ? groups.split(",") : [], extra: {} }),
    );
  }
  return users;
}

/** The columns of a CSV line: quotes hold a column with commas together, two of them are one. */
function splitColumns(line: string): string[] | undefined {
  const columns: string[] = [];
  const column = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/gy;
  for (;;) {
    const found = column.exec(line);
    if (!found) return undefined;
    const [, quoted, plain = "", separator] = found;
    columns.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (separator === "") return columns;
  }
}
