import Foundation

@main
struct LedgerPublisher {
    static func main() {
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            print(Arguments.usage)
            exit(64)
        }
        do {
            let publisher = try Publisher(arguments)
            exit(try publisher.run().rawValue)
        } catch {
            print("the ledger cannot be written: \(error)")
            exit(64)
        }
    }
}
