/** The part we use of a package that comes without types. */
declare module 'proper-lockfile' {
  const lockfile: {
    lock(
      file: string,
      options: {
        readonly realpath: boolean;
        readonly stale: number;
        readonly update: number;
        readonly retries: object;
        readonly onCompromised: (error: Error) => void;
      },
    ): Promise<() => Promise<void>>;
  };
  export default lockfile;
}
