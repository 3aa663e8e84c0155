#if ServiceLifecycle
public import ServiceLifecycle

extension Supervisor: Service {
    /// Runs the operation. If the service group in which the supervisor runs shuts down gracefully, so does the supervisor.
    func shuttingDownWithGroup(_ operation: () async -> Void) async {
        await withGracefulShutdownHandler(operation: operation) { self.shutDown() }
    }
}
#else
extension Supervisor {
    /// Runs the operation. Without the trait `ServiceLifecycle`, no service group can shut the supervisor down.
    func shuttingDownWithGroup(_ operation: () async -> Void) async {
        await operation()
    }
}
#endif
