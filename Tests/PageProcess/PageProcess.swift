import JSBridge

/// A minimal worker program for pages that run in separate processes.
@main
struct PageProcess {
    static func main() async {
        await ScriptWorker.serve()
    }
}
