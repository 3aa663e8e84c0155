public import Foundation

extension Pipe {
    /// A pipe whose ends only the program gets that is started with it. Whoever else inherited one would keep its other end
    /// from ever seeing that nobody writes, or reads, any more; tests that run in processes of their own inherit whatever is
    /// not closed for them.
    public static func unshared() -> Pipe {
        ProcessStart.alone {
            let pipe = Pipe()
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }
}
