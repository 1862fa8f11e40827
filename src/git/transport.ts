export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A connection to the two git services of one repository, over HTTPS or SSH. */
export interface GitTransport {
  /** The service's capabilities and, in the original protocol, its refs. */
  advertisement(service: GitService): Promise<Buffer>
  /** Sends one request and returns the complete response. */
  request(service: GitService, request: Buffer, version: 0 | 2): Promise<Buffer>
  close(): void
}

/** Longer responses are aborted. */
export const maxResponseBytes = 512 * 1024 * 1024
