/** Who makes a request, in the words of the API's reviews. */
export interface Caller {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymousCaller: Caller = {
  username: "system:anonymous",
  groups: ["system:unauthenticated"],
};

const authenticated = "system:authenticated";

export function authenticatedCaller(caller: Caller): Caller {
  if (caller.groups.includes(authenticated)) return caller;
  return { ...caller, groups: [...caller.groups, authenticated] };
}
