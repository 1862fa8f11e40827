export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A way to the two services of one repository. */
export interface GitTransport {
  /** What a service says of itself before it is asked anything. */
  advertisement(service: GitService): Promise<Buffer>
  /** A service's whole answer to one request. */
  ask(service: GitService, request: Buffer, version: 0 | 2): Promise<Buffer>
  close(): void
}

/** No answer longer than this is read. */
export const maxAnswerBytes = 512 * 1024 * 1024
